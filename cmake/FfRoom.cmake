# Rooms: each folder of src/ is one static library, ff_<folder>.

# ff_room(<folder> [COLD] [USES <room>...] [LIBRARIES <target>...] [DEFINES <definition>...])
#
# Makes ff_<folder> from src/<folder>/*.cc without main.cc. USES are the allowed arrows. LIBRARIES
# and DEFINES stay inside the room. An empty folder gives an empty library.
#
# COLD: nothing waits for this room, so a release build optimises it less (FfOptions.cmake). Only for
# rooms that no other room and no package uses: ff_program() sees to it that functions which other
# rooms have too are taken from those.
function(ff_room room)
    cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "" "USES;LIBRARIES;DEFINES")
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${room}/*.cc")
    list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
    list(TRANSFORM arg_USES PREPEND "ff_")

    if(NOT sources)
        add_library(ff_${room} INTERFACE)
        target_include_directories(ff_${room} INTERFACE "${PROJECT_SOURCE_DIR}/include")
        target_link_libraries(ff_${room} INTERFACE ${arg_USES} ${arg_LIBRARIES})
        return()
    endif()

    add_library(ff_${room} STATIC ${sources})
    target_include_directories(ff_${room}
        PUBLIC "${PROJECT_SOURCE_DIR}/include"
        PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(ff_${room} PUBLIC ${arg_USES} PRIVATE ff_options ${arg_LIBRARIES})
    target_compile_definitions(ff_${room} PRIVATE ${arg_DEFINES})
    if(arg_COLD AND CMAKE_BUILD_TYPE STREQUAL "Release")
        # A precompiled header has the options of those who use it, and costs more than one group
        # wins by it.
        target_link_libraries(ff_${room} PRIVATE ff_cold_options)
    else()
        ff_use_pch(ff_${room} ff_pch)
    endif()
    ff_group(ff_${room} FILES 128)
endfunction()

# ff_program(<name> ROOM <room> FIRST <room>...): src/<room>/main.cc, put at the root of the build
# folder. Skipped while there is no main.cc.
#
# Inline functions and instantiations of templates are in every room that uses them, and the linker
# keeps the first it sees. FIRST are the rooms whose copies count: their objects come before all
# libraries, whichever order the arrows give those.
function(ff_program name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "ROOM" "FIRST")
    file(GLOB main CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${arg_ROOM}/main.cc")
    if(NOT main)
        return()
    endif()
    add_executable(${name} ${main})
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    foreach(room IN LISTS arg_FIRST)
        target_sources(${name} PRIVATE $<TARGET_OBJECTS:ff_${room}>)
    endforeach()
    target_link_libraries(${name} PRIVATE ff_${arg_ROOM} ff_options)
    target_compile_definitions(${name} PRIVATE FF_VERSION="${PROJECT_VERSION}")
    ff_use_pch(${name} ff_pch)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
endfunction()
