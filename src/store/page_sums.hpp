// What stands in the last eight bytes of a page: a hash of the page and its number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jobbie::store {

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kPageSumBytes = 8;

/// `number` counts from 1, as SQLite does.
[[nodiscard]] std::uint64_t page_sum(const char* page, std::uint64_t number);

/// Whether a page that was read is what was written under that number. A page of zeros is a hole:
/// free space that was never written.
[[nodiscard]] bool is_sound(const char* page, std::uint64_t number);

inline constexpr std::size_t kPagesAtOnce = 16;
/// The same of kPagesAtOnce pages that stand behind one another, `first` the number of the first:
/// bit i is set if page i is sound. A sum is one long chain of multiplications, so several side by
/// side take little longer than one.
[[nodiscard]] std::uint32_t sound_pages(const char* pages, std::uint64_t first);

}  // namespace jobbie::store
