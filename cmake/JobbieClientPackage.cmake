# What others need to build with the C++ client: `cmake --install BUILD --component client` puts the
# headers, the libraries and a CMake package under a prefix.
include_guard()
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

add_library(jobbie::client ALIAS jobbie_client)
# Users include <jobbie/client.hpp>; inside the tree that is client/client.hpp.
foreach(header client events error interrupt json worker)
  file(WRITE "${CMAKE_BINARY_DIR}/generated/include/jobbie/${header}.hpp.in"
       "// Part of the client of Jobbie, a job queue: see client/${header}.hpp.\n"
       "#pragma once\n#include \"client/${header}.hpp\"\n")
  configure_file("${CMAKE_BINARY_DIR}/generated/include/jobbie/${header}.hpp.in"
                 "${CMAKE_BINARY_DIR}/generated/include/jobbie/${header}.hpp" COPYONLY)
  list(APPEND jobbie_client_public "${CMAKE_BINARY_DIR}/generated/include/jobbie/${header}.hpp")
  list(APPEND jobbie_client_headers "${CMAKE_SOURCE_DIR}/src/client/${header}.hpp")
endforeach()
target_include_directories(
  jobbie_client INTERFACE "$<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated/include>")

set(jobbie_client_package "${CMAKE_INSTALL_LIBDIR}/cmake/jobbie_client")
install(FILES ${jobbie_client_public} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/jobbie" COMPONENT client)
install(FILES ${jobbie_client_headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/jobbie/client"
        COMPONENT client)
# The one header below the client's own that those need.
install(FILES "${CMAKE_SOURCE_DIR}/src/net/interrupt.hpp"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/jobbie/net" COMPONENT client)
install(FILES "$<TARGET_FILE:jobbie_client>" "$<TARGET_FILE:jobbie_net>" "$<TARGET_FILE:jobbie_base>"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT client)
# Outside of release builds the library under the client uses fmt's shared library.
set(JOBBIE_CLIENT_FMT "")
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  set(JOBBIE_CLIENT_FMT "fmt::fmt")
endif()
write_basic_package_version_file(
  "${CMAKE_BINARY_DIR}/generated/jobbie_clientConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/jobbie_clientConfig.cmake.in"
  "${CMAKE_BINARY_DIR}/generated/jobbie_clientConfig.cmake"
  INSTALL_DESTINATION "${jobbie_client_package}"
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
install(FILES "${CMAKE_BINARY_DIR}/generated/jobbie_clientConfig.cmake"
              "${CMAKE_BINARY_DIR}/generated/jobbie_clientConfigVersion.cmake"
        DESTINATION "${jobbie_client_package}" COMPONENT client)
