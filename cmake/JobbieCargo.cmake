# jobbie_cargo_library(<name> <folder>)
#
# Makes the imported target jobbie_<name> of a crate of ours that is a static library: cargo builds
# lib<name>.a from the pinned Cargo.lock in <folder>, into the build folder. Crates that cargo has
# fetched once are not fetched again, so later builds need no network.
include_guard()

function(jobbie_cargo_library name folder)
  find_program(JOBBIE_CARGO cargo REQUIRED)
  # raft-rs generates its messages from their .proto file while it is built.
  find_program(JOBBIE_PROTOC protoc REQUIRED)
  set(root "${CMAKE_SOURCE_DIR}/${folder}")
  set(out "${CMAKE_BINARY_DIR}/cargo")
  set(library "${out}/release/lib${name}.a")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${root}/src/*.rs")
  if(DEFINED ENV{CARGO_HOME})
    set(home "$ENV{CARGO_HOME}")
  else()
    set(home "$ENV{HOME}/.cargo")
  endif()
  # What ships does not carry the paths of the machine that built it.
  set(flags "--remap-path-prefix=${home}=cargo --remap-path-prefix=${CMAKE_SOURCE_DIR}/=")
  add_custom_command(
    OUTPUT "${library}"
    COMMAND
      "${CMAKE_COMMAND}" -E env "CARGO_TARGET_DIR=${out}" "PROTOC=${JOBBIE_PROTOC}"
      "RUSTFLAGS=${flags}" "${JOBBIE_CARGO}" build --quiet --release --locked
    # Cargo leaves a library alone that is new enough for it, though not for a newer lock file.
    COMMAND "${CMAKE_COMMAND}" -E touch "${library}"
    DEPENDS "${root}/Cargo.toml" "${root}/Cargo.lock" ${sources}
    WORKING_DIRECTORY "${root}"
    COMMENT "Building ${name} with cargo"
    VERBATIM)
  add_custom_target(jobbie_${name}_build DEPENDS "${library}")
  add_library(jobbie_${name} STATIC IMPORTED GLOBAL)
  set_target_properties(
    jobbie_${name} PROPERTIES IMPORTED_LOCATION "${library}" INTERFACE_LINK_LIBRARIES
                                                             "Threads::Threads;${CMAKE_DL_LIBS};m")
  add_dependencies(jobbie_${name} jobbie_${name}_build)
endfunction()
