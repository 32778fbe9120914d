// A 4-ary min-heap whose items know where they stand, so that any of them can be moved or removed.
//
// The heap holds {key, item} in one contiguous vector. Where an item stands is kept with the item:
// `Position` is a functor, held by value, that gives `std::uint32_t&` for an item number (it
// usually carries a pointer to a slab). One item may be in several heaps through several position
// fields. Four children a node halve the depth of a binary heap, and so the position writes of a
// sift, which miss the cache far more often than the comparisons do.
//
// Keys must be unique: callers end them with the sequence. Then the order of removal is a function
// of the contents alone, however the heap came to be, and replicas agree.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace jobbie::engine {

/// Single-threaded. Every item handed in must stay reachable through `Position` while it is in the
/// heap, and its position must be kAbsent before it is pushed for the first time. Destruction does
/// not touch the positions: the items may be gone already.
///
/// Costs: push O(log n), but O(1) for a key larger than its parent's, so O(1) for the largest;
/// update, erase and pop O(log n); memory within 8 times what the present size needs.
template <typename Key, typename Position>
requires std::same_as<std::invoke_result_t<const Position&, std::uint32_t>,
                      std::uint32_t&> class IndexedHeap {
 public:
  /// The position of an item that is not in the heap.
  static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();

  struct Entry {
    Key key;
    std::uint32_t item;
  };

  explicit IndexedHeap(Position position = {}) : position_(std::move(position)) {}
  // A copy would fight with the original over the items' positions.
  IndexedHeap(const IndexedHeap&) = delete;
  IndexedHeap& operator=(const IndexedHeap&) = delete;
  IndexedHeap(IndexedHeap&& other) noexcept
      : entries_(std::exchange(other.entries_, {})), position_(other.position_) {}
  IndexedHeap& operator=(IndexedHeap&& other) noexcept {
    if (this == &other) return *this;
    clear();
    entries_ = std::exchange(other.entries_, {});
    position_ = other.position_;
    return *this;
  }
  ~IndexedHeap() = default;

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] bool contains(std::uint32_t item) const { return position_(item) != kAbsent; }

  /// Adds `item`, which must not be in the heap.
  void push(std::uint32_t item, Key key) {
    JOBBIE_CHECK(!contains(item) && entries_.size() < kAbsent);
    Entry entry{std::move(key), item};
    entries_.push_back(entry);
    sift_up(entries_.size() - 1, std::move(entry));
  }

  /// Gives `item`, which must be in the heap, another key.
  void update(std::uint32_t item, Key key) {
    place(checked_position(item), Entry{std::move(key), item});
  }

  /// Removes `item`, which must be in the heap.
  void erase(std::uint32_t item) { remove_at(checked_position(item)); }

  /// The key that `item`, which must be in the heap, stands under.
  [[nodiscard]] const Key& key(std::uint32_t item) const {
    return entries_[checked_position(item)].key;
  }

  /// The entry with the smallest key; the heap must not be empty. Valid until the next change.
  [[nodiscard]] const Entry& top() const {
    JOBBIE_CHECK(!entries_.empty());
    return entries_.front();
  }

  /// The best entry apart from the top: what would be the top after a pop.
  [[nodiscard]] std::optional<Entry> second() const {
    if (entries_.size() < 2) return std::nullopt;
    return entries_[smallest_child(0, entries_.size())];
  }

  /// Removes the top and gives it back; the heap must not be empty.
  Entry pop() {
    Entry out = top();
    remove_at(0);
    return out;
  }

  /// Removes everything, marks all items absent and gives the memory back.
  void clear() {
    for (const Entry& entry : entries_) position_(entry.item) = kAbsent;
    entries_ = std::vector<Entry>();  // `= {}` would keep the capacity
  }

  /// Calls `f(entry)` in no useful order until it returns false; for counting, never for choosing.
  template <typename F>
  void for_each(F&& f) const {
    for (const Entry& entry : entries_)
      if (!f(entry)) return;
  }

  [[nodiscard]] std::size_t capacity_bytes() const { return entries_.capacity() * sizeof(Entry); }

  /// Whether order and positions are intact, in O(n); for audits and tests.
  [[nodiscard]] bool audit() const {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (position_(entries_[i].item) != i) return false;
      if (i > 0 && !(entries_[parent(i)].key < entries_[i].key)) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kArity = 4;
  /// Below this many entries memory is not worth giving back.
  static constexpr std::size_t kMinShrinkCapacity = 256;

  static std::size_t parent(std::size_t i) { return (i - 1) / kArity; }

  std::size_t checked_position(std::uint32_t item) const {
    const std::size_t at = position_(item);
    JOBBIE_CHECK(at < entries_.size() && entries_[at].item == item);
    return at;
  }

  /// The child of `i`, which must have one, with the smallest key among the first `size` entries.
  std::size_t smallest_child(std::size_t i, std::size_t size) const {
    const std::size_t first = i * kArity + 1;
    const std::size_t end = std::min(first + kArity, size);
    std::size_t best = first;
    for (std::size_t child = first + 1; child < end; ++child)
      if (entries_[child].key < entries_[best].key) best = child;
    return best;
  }

  void set(std::size_t at, Entry entry) {
    position_(entry.item) = static_cast<std::uint32_t>(at);
    entries_[at] = std::move(entry);
  }

  /// Puts `entry` into the hole at `at`, or above it. Only the hole moves; the entry is written
  /// once.
  void sift_up(std::size_t at, Entry entry) {
    while (at > 0 && entry.key < entries_[parent(at)].key) {
      set(at, std::move(entries_[parent(at)]));
      at = parent(at);
    }
    set(at, std::move(entry));
  }

  /// Puts `entry` into the hole at `at`, or below it.
  void sift_down(std::size_t at, Entry entry) {
    const std::size_t size = entries_.size();
    while (at * kArity + 1 < size) {
      const std::size_t child = smallest_child(at, size);
      if (!(entries_[child].key < entry.key)) break;
      set(at, std::move(entries_[child]));
      at = child;
    }
    set(at, std::move(entry));
  }

  void place(std::size_t at, Entry entry) {
    if (at > 0 && entry.key < entries_[parent(at)].key)
      sift_up(at, std::move(entry));
    else
      sift_down(at, std::move(entry));
  }

  /// Fills the hole that the removed entry leaves with the last one.
  void remove_at(std::size_t at) {
    position_(entries_[at].item) = kAbsent;
    Entry last = std::move(entries_.back());
    entries_.pop_back();
    if (at < entries_.size()) place(at, std::move(last));
    shrink();
  }

  /// After a backlog has drained, the vector must not hold its peak for ever. Halving the slack
  /// only when it is eightfold keeps the copying amortised O(1) and never alternates with growth.
  void shrink() {
    if (entries_.capacity() < kMinShrinkCapacity || entries_.size() > entries_.capacity() / 8)
      return;
    std::vector<Entry> smaller;
    smaller.reserve(entries_.capacity() / 4);
    std::move(entries_.begin(), entries_.end(), std::back_inserter(smaller));
    entries_ = std::move(smaller);
  }

  std::vector<Entry> entries_;
  Position position_;
};

}  // namespace jobbie::engine
