# jobbie_library(<folder> [DEPS <folder>...] [EXTERNAL <target>...])
#
# Makes the static library jobbie_<folder> of all sources in src/<folder>/ and, where there are
# *_test.cpp files beside them, one GoogleTest program <folder>_test whose cases ctest knows by name.
# DEPS are the folders this one may use, the same edges as in src/README.md; EXTERNAL are imported
# targets. A folder of headers alone becomes an interface library.
#
# Unit tests may also include "tests/support/..." and find the tree at run time by JOBBIE_SOURCE_DIR.
#
# jobbie_variant(<folder> <suffix> DEFINES <macro>...)
#
# Makes jobbie_<folder>_<suffix>: the same sources and edges with more macros defined, for tests alone
# (planted bugs). Link it instead of jobbie_<folder>. It is built when something needs it.
include_guard()

# Sets <out_sources> and <out_tests> to what lies in src/<folder>/.
function(jobbie_find_sources folder out_sources out_tests)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${folder}/*.cpp")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set(${out_sources} ${sources} PARENT_SCOPE)
  set(${out_tests} ${tests} PARENT_SCOPE)
endfunction()

function(jobbie_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS;EXTERNAL")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "jobbie_library(${folder}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(name "jobbie_${folder}")
  list(TRANSFORM arg_DEPS PREPEND "jobbie_")
  jobbie_find_sources(${folder} sources tests)

  if(sources)
    add_library(${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} ${scope} "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(${name} ${scope} ${arg_DEPS} ${arg_EXTERNAL})

  if(tests AND JOBBIE_UNIT_TESTS)
    add_executable(${folder}_test ${tests})
    target_include_directories(${folder}_test PRIVATE "${CMAKE_SOURCE_DIR}")
    target_compile_definitions(${folder}_test PRIVATE "JOBBIE_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\"")
    # Tests name their helpers freely: each file stays a translation unit of its own.
    set_target_properties(${folder}_test PROPERTIES UNITY_BUILD OFF)
    # `if (a) EXPECT_EQ(b, c);` is clear to a reader, though the macro hides an else.
    target_compile_options(${folder}_test PRIVATE -Wno-dangling-else)
    target_link_libraries(${folder}_test PRIVATE ${name} GTest::gtest_main)
    gtest_discover_tests(${folder}_test TEST_PREFIX "${folder}." DISCOVERY_TIMEOUT 60)
  endif()
endfunction()

function(jobbie_variant folder suffix)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "DEFINES")
  set(name "jobbie_${folder}_${suffix}")
  jobbie_find_sources(${folder} sources tests)
  if(NOT sources)
    message(FATAL_ERROR "jobbie_variant(${folder} ${suffix}): src/${folder} has no sources")
  endif()
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${sources})
  target_include_directories(${name} PUBLIC "${CMAKE_SOURCE_DIR}/src")
  target_compile_definitions(${name} PUBLIC ${arg_DEFINES})
  get_target_property(links jobbie_${folder} INTERFACE_LINK_LIBRARIES)
  if(links)
    target_link_libraries(${name} PUBLIC ${links})
  endif()
endfunction()
