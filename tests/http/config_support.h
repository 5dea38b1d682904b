// Loading settings from plain maps, for tests.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "http/config.h"

namespace ff::http {

using Map = std::map<std::string, std::string>;

inline expected<ServerConfig> load(Map environment, std::string file = "", Map flags = {}) {
    ConfigSources sources;
    sources.environment = std::move(environment);
    sources.flags = std::move(flags);
    if (!file.empty()) {
        sources.file = ConfigFile{"ff.toml", std::move(file)};
    }
    return load_config(sources);
}

inline std::string fault(Map environment, std::string file = "", Map flags = {}) {
    const auto config = load(std::move(environment), std::move(file), std::move(flags));
    if (config) {
        return "";
    }
    EXPECT_EQ(config.error().code, ErrorCode::invalid_config);
    EXPECT_EQ(config.error().detail.find('\n'), std::string::npos);
    return config.error().detail;
}

inline std::string warnings(const ServerConfig& config) {
    std::string all;
    for (const std::string& warning : config.warnings) {
        all += warning + "\n";
    }
    return all;
}

inline const EffectiveSetting& shown(const ServerConfig& config, std::string_view name) {
    for (const EffectiveSetting& setting : config.settings) {
        if (setting.name == name) {
            return setting;
        }
    }
    throw std::runtime_error("no setting " + std::string(name));
}

}  // namespace ff::http
