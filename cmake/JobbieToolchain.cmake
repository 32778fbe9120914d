# Language level, warnings, sanitizers and output folders: everything that holds for every target.
include_guard()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

find_program(JOBBIE_CCACHE ccache)
if(JOBBIE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${JOBBIE_CCACHE}")
endif()

add_compile_options(
  -Wall
  -Wextra
  -Wshadow
  -Wconversion
  -Wsign-conversion
  -Wold-style-cast
  -Wnon-virtual-dtor
  -Woverloaded-virtual
  -Wcast-align
  -Wcast-qual
  -Wformat=2
  -Wimplicit-fallthrough
  -Wundef
  # Not -Wpedantic: it refuses __int128, which is the plain way to multiply two 64-bit numbers. These
  # are the parts of it that matter here.
  -Wvla
  -Wextra-semi
  # Options structs are filled with designated initialisers; what is left out has its default.
  -Wno-missing-field-initializers)

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # What ships does not carry the paths of the machine that built it.
  add_compile_options("-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(
    -Wduplicated-cond
    -Wlogical-op
    # GCC 12 reports overlapping copies inside std::string that cannot happen (GCC bug 105651).
    -Wno-restrict)
  if(JOBBIE_SANITIZE)
    # Sanitizer instrumentation hides initialisation from this analysis.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
else()
  # libstdc++ 12 offers std::expected only to compilers that claim the concepts of 202002; clang 16
  # has what <expected> uses but claims less. Sized operator delete is C++14, and clang leaves it out
  # unless asked.
  add_compile_options(-Wno-builtin-macro-redefined -U__cpp_concepts -D__cpp_concepts=202002L
                      -fsized-deallocation)
endif()

if(JOBBIE_SANITIZE)
  add_compile_options("-fsanitize=${JOBBIE_SANITIZE}" -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options("-fsanitize=${JOBBIE_SANITIZE}")
endif()

if(JOBBIE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(JOBBIE_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
