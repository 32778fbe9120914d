// Pages of the main file that lie around the one SQLite asked for, read with it in one call.
//
// A search that must look at every row asks for pages one by one, mostly one after the other, and
// the calls cost more than the bytes. While a read transaction lasts, no page of the main file that
// it may ask for changes: a newer version of a page stays in the write-ahead log until those who
// must not see it have ended. So what was read early is as good as what is read now, until the
// locks change; then the window is forgotten.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "store/page_sums.hpp"

namespace jobbie::store {

/// Used by one thread at a time, like the connection it belongs to.
class ReadWindow {
 public:
  static constexpr std::size_t kPages = kPagesAtOnce;
  static constexpr std::size_t kBytes = kPages * kPageBytes;

  /// Whether the page is here and sound; `out` is then its content.
  [[nodiscard]] bool take(std::uint64_t number, void* out) const;
  /// Says that the page is not here. Whether those before were near it, so that its whole block is
  /// worth reading.
  [[nodiscard]] bool missed(std::uint64_t number);
  /// Where the block of `number` goes: kBytes, that begin with page first_of(number). Nothing is
  /// here until filled() says so.
  [[nodiscard]] char* room();
  [[nodiscard]] static std::uint64_t first_of(std::uint64_t number);
  void filled(std::uint64_t first);

  void forget() { sound_ = 0; }

 private:
  std::uint64_t first_ = 0;
  std::uint32_t sound_ = 0;  ///< a bit for each page
  std::uint64_t latest_ = 0;
  unsigned in_a_row_ = 0;
  alignas(64) std::array<char, kBytes> pages_;
};

}  // namespace jobbie::store
