# The package: one library of all rooms, as outside projects find it with find_package(flowfabric).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# ff_package(ROOMS <room>... LIBRARIES <target>... FIND <package>...)
#
# Makes target flowfabric::flowfabric (libflowfabric.a) from the objects of the rooms, and its install.
# LIBRARIES are what the rooms link; FIND names the packages that bring them, for the outside project.
function(ff_package)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "ROOMS;LIBRARIES;FIND")
    set(objects)
    foreach(room IN LISTS arg_ROOMS)
        get_target_property(type ff_${room} TYPE)
        if(type STREQUAL "STATIC_LIBRARY")
            list(APPEND objects $<TARGET_OBJECTS:ff_${room}>)
        endif()
    endforeach()

    add_library(flowfabric STATIC ${objects})
    add_library(flowfabric::flowfabric ALIAS flowfabric)
    set_target_properties(flowfabric PROPERTIES LINKER_LANGUAGE CXX)
    target_compile_features(flowfabric PUBLIC cxx_std_23)
    target_include_directories(flowfabric PUBLIC
        "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
        "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    target_link_libraries(flowfabric PRIVATE ${arg_LIBRARIES})

    set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/flowfabric")
    install(TARGETS flowfabric EXPORT flowfabricTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/ff" COMPONENT development
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    install(EXPORT flowfabricTargets NAMESPACE flowfabric:: COMPONENT development
        DESTINATION "${package_dir}")
    list(TRANSFORM arg_FIND PREPEND "find_dependency(")
    list(TRANSFORM arg_FIND APPEND ")")
    list(JOIN arg_FIND "\n" FF_FIND_DEPENDENCIES)
    configure_package_config_file(
        "${PROJECT_SOURCE_DIR}/cmake/flowfabricConfig.cmake.in"
        "${PROJECT_BINARY_DIR}/flowfabricConfig.cmake"
        INSTALL_DESTINATION "${package_dir}")
    write_basic_package_version_file("${PROJECT_BINARY_DIR}/flowfabricConfigVersion.cmake"
        COMPATIBILITY SameMinorVersion)
    install(FILES
        "${PROJECT_BINARY_DIR}/flowfabricConfig.cmake"
        "${PROJECT_BINARY_DIR}/flowfabricConfigVersion.cmake"
        DESTINATION "${package_dir}" COMPONENT development)
endfunction()
