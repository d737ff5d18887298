# `cmake --install`, component `library`: libgraphtag.so, libgraphtag_inject.so, libgraphtag_guard.so, the headers, a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

install(TARGETS graphtag_shared EXPORT graphtagTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        NAMELINK_COMPONENT library)
install(TARGETS graphtag_inject_shared graphtag_guard_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/graphtag DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/graphtag)
install(EXPORT graphtagTargets NAMESPACE graphtag:: DESTINATION ${package_dir} COMPONENT library)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/graphtagConfig.cmake.in ${CMAKE_BINARY_DIR}/graphtagConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/graphtagConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/graphtagConfig.cmake ${CMAKE_BINARY_DIR}/graphtagConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT library)

# The pkg-config file finds the library from its own place, so that an installed tree may be moved.
file(RELATIVE_PATH PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_SOURCE_DIR}/cmake/graphtag.pc.in ${CMAKE_BINARY_DIR}/graphtag.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/graphtag.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)

# Component `command`: the command. In a wheel it brings the libraries that it needs, as the machine it comes to may have none of them.
if(GRAPHTAG_COMMAND)
  if(SKBUILD)
    set_target_properties(graphtag PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/command")
    install(TARGETS graphtag RUNTIME_DEPENDENCY_SET command_needs RUNTIME DESTINATION bin COMPONENT command)
    install(RUNTIME_DEPENDENCY_SET command_needs PRE_EXCLUDE_REGEXES "^(libc|libm|libdl|libpthread|librt|ld-linux.*)\\.so"
            POST_EXCLUDE_REGEXES "^(/lib|/usr/lib)[^ ]*/(libc|libm)\\.so" DESTINATION lib/command COMPONENT command)
  else()
    install(TARGETS graphtag RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
  endif()
endif()
