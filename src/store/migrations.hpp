// The schema's history: numbered SQL files of src/store/migrations, embedded when we are built.
#pragma once

#include <span>
#include <string_view>

namespace jobbie::store {

struct Migration {
  int version = 0;  ///< the schema's version after it; the file's number
  std::string_view name;
  std::string_view sql;
};

/// In order, from version 1 without gaps.
std::span<const Migration> migrations();

}  // namespace jobbie::store
