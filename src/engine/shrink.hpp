// Giving memory back after a burst: lists and tables that hold little of what they once held.
#pragma once

#include <cstddef>
#include <vector>

namespace jobbie::engine {

/// What a list or table keeps for the next time, in elements; more than this was a burst.
inline constexpr std::size_t kKept = 16'384;
/// A table is made smaller when it is emptier than this: so few entries are moved that it takes
/// about a millisecond where the table had a million.
inline constexpr std::size_t kSparse = 64;

template <typename T>
void empty_list(std::vector<T>& list) {
  if (list.capacity() > kKept)
    list = std::vector<T>();
  else
    list.clear();
}

template <typename Table>
void shrink_table(Table& table) {
  if (table.bucket_count() > kKept && table.size() < table.bucket_count() / kSparse)
    table.rehash(2 * table.size());
}

}  // namespace jobbie::engine
