# What is written as text and becomes part of the program.
#
# jobbie_embed_migrations(<folder>)
#
# Puts the files src/<folder>/migrations/NNNN_name.sql into jobbie_<folder>, as the list that
# store/migrations.hpp promises. A changed or new file makes the list anew.
include_guard()

set(JOBBIE_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/embed_migrations.cmake")

function(jobbie_embed_migrations folder)
  file(GLOB files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${folder}/migrations/*.sql")
  set(out "${CMAKE_BINARY_DIR}/generated/${folder}_migrations.cpp")
  add_custom_command(
    OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DOUT=${out}" "-DFOLDER=${CMAKE_SOURCE_DIR}/src/${folder}/migrations"
            -P "${JOBBIE_EMBED_SCRIPT}"
    DEPENDS ${files} "${JOBBIE_EMBED_SCRIPT}"
    COMMENT "Embedding the migrations of ${folder}")
  target_sources(jobbie_${folder} PRIVATE "${out}")
endfunction()

# jobbie_embed_openapi(<folder>)
#
# Puts the API's description, api/openapi.yaml, into jobbie_<folder> as JSON.
set(JOBBIE_OPENAPI_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/embed_openapi.py")

function(jobbie_embed_openapi folder)
  set(source "${CMAKE_SOURCE_DIR}/api/openapi.yaml")
  set(out "${CMAKE_BINARY_DIR}/generated/openapi")
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/generated")
  add_custom_command(
    OUTPUT "${out}.cpp" "${out}.json"
    COMMAND "${JOBBIE_DEBIAN_PYTHON}" "${JOBBIE_OPENAPI_SCRIPT}" "${source}" "${out}.cpp" "${out}.json"
    DEPENDS "${source}" "${JOBBIE_OPENAPI_SCRIPT}"
    COMMENT "Embedding the API's description")
  target_sources(jobbie_${folder} PRIVATE "${out}.cpp")
endfunction()
