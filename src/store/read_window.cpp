// When a block is worth reading, and what of it may be used.
#include "store/read_window.hpp"

#include <cstring>

namespace jobbie::store {
namespace {

/// Pages of a table are nearly in order, with those of its indexes in between.
constexpr std::uint64_t kNear = 2 * ReadWindow::kPages;
/// A lookup goes down a tree, which is three or four pages far from one another.
constexpr unsigned kEnough = 4;

}  // namespace

std::uint64_t ReadWindow::first_of(std::uint64_t number) {
  return (number - 1) / kPages * kPages + 1;
}

bool ReadWindow::take(std::uint64_t number, void* out) const {
  const std::uint64_t at = number - first_;
  if (at >= kPages || (sound_ >> at & 1U) == 0) return false;
  std::memcpy(out, pages_.data() + at * kPageBytes, kPageBytes);
  return true;
}

bool ReadWindow::missed(std::uint64_t number) {
  const std::uint64_t apart = number > latest_ ? number - latest_ : latest_ - number;
  in_a_row_ = apart <= kNear ? in_a_row_ + 1 : 0;
  latest_ = number;
  // A page of the block that is here already is damaged, or was not there to be read.
  const bool known = sound_ != 0 && first_of(number) == first_;
  return in_a_row_ >= kEnough && !known;
}

char* ReadWindow::room() {
  sound_ = 0;
  return pages_.data();
}

void ReadWindow::filled(std::uint64_t first) {
  first_ = first;
  sound_ = sound_pages(pages_.data(), first);
}

}  // namespace jobbie::store
