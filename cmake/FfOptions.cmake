# How everything is compiled: language, warnings, sanitizers, and the tools that make it faster.

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Warnings belong to our own targets only: link ff_options PRIVATE. A release is built by people who
# do not work on it, perhaps with another compiler: all other presets look for warnings, a release
# does not, which takes a fortieth less time.
add_library(ff_options INTERFACE)
if(FF_WARNINGS)
    target_compile_options(ff_options INTERFACE
        -Wall -Wextra -Wpedantic -Wconversion -Wnon-virtual-dtor -Werror
        # A designated initialiser that leaves members to their defaults is how operations are
        # written.
        -Wno-missing-field-initializers)
    if(NOT FF_UNITY)
        # In a group, what is private to one file looks like a global name to another.
        target_compile_options(ff_options INTERFACE -Wshadow)
    endif()
endif()
if(FF_WARNINGS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # False alarms of g++ 12 inside the standard library, once inlined into our functions: overlaps
    # and bounds in std::string's operator+ (GCC bug 105651), members of std::variant and
    # std::expected that are not alive. The sanitizers and clang-tidy look for the real ones.
    target_compile_options(ff_options INTERFACE
        -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
        -Wno-maybe-uninitialized)
endif()
# A release is built with -O1 and the inlining of -O2 (CMakePresets.json): what -O2 does beyond takes
# a seventh of a build and wins the writer's path three to ten instructions in a thousand.
#
# Rooms that are not measured (ff_room(... COLD)) get less.
add_library(ff_cold_options INTERFACE)
target_link_libraries(ff_cold_options INTERFACE ff_options)
target_compile_options(ff_cold_options INTERFACE -Og)

# Bounds checks of the standard library, wherever speed is not what is measured.
target_compile_definitions(ff_options INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

# Sanitizers must be the same in every object and at the link.
if(FF_SANITIZE STREQUAL "address")
    set(ff_sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(FF_SANITIZE STREQUAL "thread")
    set(ff_sanitize_flags -fsanitize=thread)
elseif(NOT FF_SANITIZE STREQUAL "")
    message(FATAL_ERROR "FF_SANITIZE must be empty, address or thread, not '${FF_SANITIZE}'")
endif()
if(FF_SANITIZE)
    add_compile_options(${ff_sanitize_flags} -fno-omit-frame-pointer)
    add_link_options(${ff_sanitize_flags})
endif()

# ccache, if there. Precompiled headers need the looser comparison; it is safe because our code
# does not depend on __DATE__, __TIME__ or macros defined before the precompiled header.
find_program(FF_CCACHE ccache)
mark_as_advanced(FF_CCACHE)
if(FF_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND}" -E env "CCACHE_SLOPPINESS=pch_defines,time_macros" "${FF_CCACHE}")
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(ff_options INTERFACE -fpch-preprocess)
    endif()
endif()

# mold, if there and known to the compiler.
find_program(FF_MOLD mold)
mark_as_advanced(FF_MOLD)
if(FF_MOLD)
    include(CheckLinkerFlag)
    check_linker_flag(CXX -fuse-ld=mold FF_LINKS_WITH_MOLD)
    if(FF_LINKS_WITH_MOLD)
        add_link_options(-fuse-ld=mold)
    endif()
endif()

# The compiler takes up to three gigabytes for a group: no more are at work than fit into memory, nor
# than there are cores. Ninja would start two more, which on two cores takes a third longer in all:
# groups are too large to share a cache.
if(FF_UNITY)
    cmake_host_system_information(
        RESULT host_figures QUERY TOTAL_PHYSICAL_MEMORY NUMBER_OF_LOGICAL_CORES)
    list(POP_FRONT host_figures FF_MEMORY_MB groups_at_once)
    math(EXPR groups_in_memory "(${FF_MEMORY_MB} + 1500) / 3000")
    if(groups_in_memory LESS groups_at_once)
        set(groups_at_once ${groups_in_memory})
    endif()
    if(groups_at_once LESS 1)
        set(groups_at_once 1)
    endif()
    set_property(GLOBAL PROPERTY JOB_POOLS ff_groups=${groups_at_once})
    set(CMAKE_JOB_POOL_COMPILE ff_groups)
endif()

# ff_group(<target> FILES <most>): in a unity build, its files are compiled in groups of one size, so
# that none is left to the end on one core.
#
# Files of a group share one parse and one instantiation of the common types, which is most of the
# work. But an edit recompiles the group, and names in unnamed namespaces must differ.
function(ff_group target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILES" "")
    if(NOT FF_UNITY)
        return()
    endif()
    get_target_property(sources ${target} SOURCES)
    list(LENGTH sources count)
    math(EXPR groups "(${count} + ${arg_FILES} - 1) / ${arg_FILES}")
    math(EXPR size "(${count} + ${groups} - 1) / ${groups}")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
    # In a group the main file is not the one that a type is private to.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # From which size on the compiler looks through its memory for what it can use again: a tenth
        # of its time, when it begins at 128 MB as it would whatever the machine has.
        math(EXPR kilobytes "${FF_MEMORY_MB} * 1024 / 12")
        target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=${kilobytes})
    endif()
endfunction()
