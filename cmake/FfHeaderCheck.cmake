# Every header compiles alone: one generated unit per header, never linked into anything.

# ff_header_check(<target>): an object library over include/ff/*.h and src/*/*.h.
function(ff_header_check target)
    file(GLOB headers CONFIGURE_DEPENDS
        "${PROJECT_SOURCE_DIR}/include/ff/*.h"
        "${PROJECT_SOURCE_DIR}/src/*/*.h")
    if(NOT headers)
        return()
    endif()

    set(units)
    foreach(header IN LISTS headers)
        cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE name)
        string(REGEX REPLACE "[^A-Za-z0-9]" "_" stem "${name}")
        set(unit "${PROJECT_BINARY_DIR}/header_check/${stem}.cc")
        # Twice: the second inclusion must be harmless.
        file(CONFIGURE OUTPUT "${unit}"
            CONTENT "#include \"${name}\"\n#include \"${name}\"\n" @ONLY)
        list(APPEND units "${unit}")
    endforeach()

    add_library(${target} OBJECT ${units})
    target_include_directories(${target} PRIVATE
        "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${target} PRIVATE ff_options SQLite::SQLite3 fmt::fmt CLI11::CLI11)
    target_compile_options(${target} PRIVATE -O0 -g0)
endfunction()
