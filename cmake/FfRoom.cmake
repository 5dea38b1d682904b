# Rooms: each folder of src/ is one static library, ff_<folder>.

# ff_room(<folder> [USES <room>...] [LIBRARIES <target>...] [DEFINES <definition>...])
#
# Makes ff_<folder> from src/<folder>/*.cc without main.cc. USES are the allowed arrows. LIBRARIES
# and DEFINES stay inside the room. An empty folder gives an empty library.
function(ff_room room)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "USES;LIBRARIES;DEFINES")
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
    ff_use_pch(ff_${room} ff_pch)
    ff_group(ff_${room} FILES 28)
endfunction()

# ff_program(<name> ROOM <room>): src/<room>/main.cc, put at the root of the build folder. Skipped
# while there is no main.cc.
function(ff_program name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "ROOM" "")
    file(GLOB main CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${arg_ROOM}/main.cc")
    if(NOT main)
        return()
    endif()
    add_executable(${name} ${main})
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${name} PRIVATE ff_${arg_ROOM} ff_options)
    target_compile_definitions(${name} PRIVATE FF_VERSION="${PROJECT_VERSION}")
    ff_use_pch(${name} ff_pch)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
endfunction()
