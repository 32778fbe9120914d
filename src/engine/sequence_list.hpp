// A list of sequences in ascending order, for lists that grow at their end and are used up from the
// front.
//
// One that is taken out of the middle is marked and left where it is; when half are marked, the
// list is made anew. So each step costs a search at most, and a sequence takes eight bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace jobbie::engine {

class SequenceList {
 public:
  [[nodiscard]] bool empty() const { return live_ == 0; }
  [[nodiscard]] std::size_t size() const { return live_; }
  /// The smallest; there must be one.
  [[nodiscard]] std::uint64_t front() const { return entries_[first_] >> 1; }
  [[nodiscard]] bool contains(std::uint64_t sequence) const {
    const auto at = find(sequence);
    return at < entries_.size() && entries_[at] == live(sequence);
  }

  /// Whether it was not there before.
  bool insert(std::uint64_t sequence) {
    const auto at = find(sequence);
    if (at < entries_.size() && entries_[at] >> 1 == sequence) {
      if (entries_[at] == live(sequence)) return false;
      entries_[at] = live(sequence);
    } else {
      entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(at), live(sequence));
    }
    ++live_;
    return true;
  }

  void erase(std::uint64_t sequence) {
    const auto at = find(sequence);
    if (at == entries_.size() || entries_[at] != live(sequence)) return;
    entries_[at] |= kGone;
    --live_;
    while (first_ < entries_.size() && (entries_[first_] & kGone) != 0) ++first_;
    if (entries_.size() > 2 * live_ + kFew) tidy();
  }

 private:
  static constexpr std::uint64_t kGone = 1;
  static constexpr std::size_t kFew = 16;

  static std::uint64_t live(std::uint64_t sequence) { return sequence << 1; }
  /// Where it is, or would be.
  [[nodiscard]] std::size_t find(std::uint64_t sequence) const {
    // Most are younger than all others, or the oldest.
    if (entries_.empty() || entries_.back() >> 1 < sequence) return entries_.size();
    if (live_ > 0 && front() == sequence) return first_;
    const auto found = std::lower_bound(entries_.begin() + static_cast<std::ptrdiff_t>(first_),
                                        entries_.end(), live(sequence));
    return static_cast<std::size_t>(found - entries_.begin());
  }
  void tidy() {
    std::erase_if(entries_, [](std::uint64_t entry) { return (entry & kGone) != 0; });
    first_ = 0;
  }

  std::vector<std::uint64_t> entries_;  ///< twice the sequence, and one more if it is gone
  std::size_t first_ = 0;               ///< those before are gone
  std::size_t live_ = 0;
};

}  // namespace jobbie::engine
