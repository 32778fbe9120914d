# jobbie_embed_ui(<folder>)
#
# Puts what the build of ui/ made (ui/dist) into jobbie_<folder>, as ui/files.hpp promises. `./dev build`
# makes ui/dist first; without it the binary serves a page that says so.
include_guard()

function(jobbie_embed_ui folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/ui/dist/*")
  set(out "${CMAKE_BINARY_DIR}/generated/ui_files.cpp")
  add_custom_command(
    OUTPUT "${out}"
    COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/tools/pack_ui" "${CMAKE_SOURCE_DIR}/ui/dist"
            "${out}"
    DEPENDS ${files} "${CMAKE_SOURCE_DIR}/tools/pack_ui"
    COMMENT "Embedding the web UI"
    VERBATIM)
  set_source_files_properties("${out}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(jobbie_${folder} PRIVATE "${out}")
endfunction()
