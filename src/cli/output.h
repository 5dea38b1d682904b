// Whether a command prints for people or for programs.
#pragma once

#include <ff/states.h>

namespace ff::cli {

FF_WORD_ENUM(Output, text, json)

}  // namespace ff::cli
