# Precompiled headers: one for all rooms, one for all tests, because each takes seconds to make.
#
# A source file must still include what it uses: the lint preset compiles without, and so does the
# header check.

# The part of the standard library that most units need anyway.
set(ff_std_headers
    <algorithm> <array> <atomic> <charconv> <chrono> <condition_variable> <cstdint> <cstring>
    <deque> <expected> <functional> <map> <memory> <mutex> <optional> <set> <span> <string>
    <string_view> <thread> <tuple> <unordered_map> <utility> <variant> <vector>)

# ff_add_pch(<name> LIKE <target>... [HEADERS <header>...]): the standard set and HEADERS, compiled
# with the options that the interface libraries LIKE carry. Nothing when FF_PCH is off.
function(ff_add_pch name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIKE;HEADERS")
    if(NOT FF_PCH)
        return()
    endif()
    set(unit "${PROJECT_BINARY_DIR}/${name}.cc")
    file(CONFIGURE OUTPUT "${unit}" CONTENT "// Only carries the precompiled header.\n")
    add_library(${name} OBJECT EXCLUDE_FROM_ALL "${unit}")
    target_link_libraries(${name} PRIVATE ${arg_LIKE})
    target_precompile_headers(${name} PRIVATE ${ff_std_headers} ${arg_HEADERS})
endfunction()

# ff_use_pch(<target> <name>): the target must have the same options as the precompiled header.
function(ff_use_pch target name)
    if(FF_PCH)
        target_precompile_headers(${target} REUSE_FROM ${name})
    endif()
endfunction()
