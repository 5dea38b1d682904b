#include <ff/codec.h>

#include <cmath>

namespace ff {

namespace {

constexpr std::size_t shown_bytes_max = 40;

/// What a document holds in a place, short enough for one line.
std::string shown(const json& value) {
    if (value.if_object() != nullptr) {
        return "an object";
    }
    if (value.if_array() != nullptr) {
        return "a list";
    }
    std::string text = js::dump(value);
    if (text.size() > shown_bytes_max) {
        return truncate_utf8(std::move(text), shown_bytes_max) + "…";
    }
    return text;
}

}  // namespace

std::string Where::path() const {
    if (parent_ == nullptr) {
        return {};
    }
    std::string text = parent_->path();
    if (name_.data() == nullptr) {
        return text + "[" + std::to_string(index_) + "]";
    }
    return text.empty() ? std::string(name_) : text + "." + std::string(name_);
}

std::unexpected<Error> Where::fail(std::string_view what) const {
    const std::string at = path();
    return ff::fail(ErrorCode::invalid_input,
                    at.empty() ? std::string(what) : at + ": " + std::string(what));
}

std::unexpected<Error> Where::must_be(std::string_view what, const json& found) const {
    return fail("must be " + std::string(what) + ", not " + shown(found));
}

namespace codec {

expected<std::int64_t> decode_signed(const json& value, const Where& where, std::int64_t low,
                                     std::int64_t high) {
    if (const auto found = value.as_int64(); found && *found >= low && *found <= high) {
        return *found;
    }
    return where.must_be(
        "a whole number from " + std::to_string(low) + " to " + std::to_string(high), value);
}

expected<std::uint64_t> decode_unsigned(const json& value, const Where& where, std::uint64_t high) {
    if (const auto found = value.as_uint64(); found && *found <= high) {
        return *found;
    }
    return where.must_be("a whole number from 0 to " + std::to_string(high), value);
}

expected<double> decode_double(const json& value, const Where& where, double high) {
    if (const auto found = value.as_double(); found && std::abs(*found) <= high) {
        return *found;
    }
    return where.must_be("a number that fits", value);
}

expected<json> encode_double(double value, const Where& where) {
    if (!std::isfinite(value)) {
        return where.fail("must be a finite number; JSON has no other");
    }
    return json(value);
}

expected<json> encode_text(const std::string& text, const Where& where) {
    if (!is_valid_utf8(text)) {
        return where.fail("must be UTF-8; give bytes as a payload of their own");
    }
    return json(text);
}

}  // namespace codec

}  // namespace ff
