# Run by jobbie_embed_migrations: writes OUT from the SQL files in FOLDER, in order of their numbers.
file(GLOB files "${FOLDER}/*.sql")
list(SORT files)
set(entries "")
set(expected 1)
foreach(file IN LISTS files)
  get_filename_component(stem "${file}" NAME_WE)
  if(NOT stem MATCHES "^([0-9][0-9][0-9][0-9])_(.+)$")
    message(FATAL_ERROR "${stem}: a migration is called NNNN_name.sql")
  endif()
  set(name "${CMAKE_MATCH_2}")
  string(REGEX REPLACE "^0+" "" number "${CMAKE_MATCH_1}")
  if(NOT number EQUAL expected)
    message(FATAL_ERROR "${stem}: expected migration ${expected}")
  endif()
  math(EXPR expected "${expected} + 1")
  file(READ "${file}" sql)
  string(APPEND entries "    {${number}, \"${name}\", R\"--sql--(${sql})--sql--\"},\n")
endforeach()
file(WRITE "${OUT}" "// Made from src/store/migrations; change those.
#include \"store/migrations.hpp\"

namespace jobbie::store {

std::span<const Migration> migrations() {
  static constexpr Migration kAll[] = {
${entries}  };
  return kAll;
}

}  // namespace jobbie::store
")
