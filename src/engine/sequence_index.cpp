// Changes to the sequence index: blocks coming and going, and the stepwise move to another table.
#include "engine/sequence_index.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.hpp"
#include "base/id.hpp"

namespace jobbie::engine {
namespace {

constexpr std::size_t kCacheLine = 64;

}  // namespace

template <unsigned kBlockBits>
BasicSequenceIndex<kBlockBits>::Table::Table(std::size_t cells)
    : memory(std::calloc(cells * kCellBytes + kCacheLine, 1)),
      mask(cells - 1),
      shift(64 - std::countr_zero(cells)) {
  if (memory == nullptr) throw std::bad_alloc();
  // On a cache line, so that no block of a power of two bytes straddles one.
  void* begin = memory.get();
  std::size_t space = cells * kCellBytes + kCacheLine;
  std::align(kCacheLine, cells * kCellBytes, begin, space);
  tags = static_cast<std::uint64_t*>(begin);
  slots = static_cast<std::uint32_t*>(static_cast<void*>(tags + cells));
}

template <unsigned kBlockBits>
bool BasicSequenceIndex<kBlockBits>::Table::is_block_zero(std::size_t cell) const {
  std::uint32_t any = 0;
  for (std::size_t i = 0; i < kBlockSlots; ++i) any |= slots[cell * kBlockSlots + i];
  return any == 0;
}

template <unsigned kBlockBits>
void BasicSequenceIndex<kBlockBits>::Table::copy_block(std::size_t to, const Table& from,
                                                       std::size_t cell) {
  tags[to] = from.tags[cell];
  std::memcpy(&slots[to * kBlockSlots], &from.slots[cell * kBlockSlots],
              kBlockSlots * sizeof(std::uint32_t));
}

template <unsigned kBlockBits>
void BasicSequenceIndex<kBlockBits>::Table::clear_block(std::size_t cell) {
  tags[cell] = 0;
  std::memset(&slots[cell * kBlockSlots], 0, kBlockSlots * sizeof(std::uint32_t));
}

template <unsigned kBlockBits>
void BasicSequenceIndex<kBlockBits>::Table::remove_block(std::size_t cell) {
  std::size_t hole = cell;
  for (std::size_t next = (hole + 1) & mask; tags[next] != 0; next = (next + 1) & mask) {
    // A block may move into the hole unless that would put it before its home.
    const std::size_t distance_from_home = (next - home(tags[next])) & mask;
    const std::size_t distance_from_hole = (next - hole) & mask;
    if (distance_from_home < distance_from_hole) continue;
    copy_block(hole, *this, next);
    hole = next;
  }
  clear_block(hole);
}

template <unsigned kBlockBits>
BasicSequenceIndex<kBlockBits>::BasicSequenceIndex() : current_(kMinCells) {}

template <unsigned kBlockBits>
void BasicSequenceIndex<kBlockBits>::insert(std::uint64_t sequence, std::uint32_t slot) {
  const std::uint32_t before = exchange(sequence, slot);
  JOBBIE_CHECK(before == kNone);
}

template <unsigned kBlockBits>
void BasicSequenceIndex<kBlockBits>::set(std::uint64_t sequence, std::uint32_t slot) {
  exchange(sequence, slot);
}

template <unsigned kBlockBits>
std::uint32_t BasicSequenceIndex<kBlockBits>::exchange(std::uint64_t sequence, std::uint32_t slot) {
  JOBBIE_CHECK(sequence > 0 && sequence <= base::kMaxSequence && slot != kNone);
  step_resize();
  const std::uint32_t before = std::exchange(obtain(sequence), slot);
  if (before == kNone) ++size_;
  return before;
}

/// The place for the slot of `sequence`, in a new block if need be.
template <unsigned kBlockBits>
std::uint32_t& BasicSequenceIndex<kBlockBits>::obtain(std::uint64_t sequence) {
  const std::uint64_t tag = tag_of(sequence);
  std::size_t cell = current_.locate(tag);
  if (current_.tags[cell] == tag) return current_.slot(cell, sequence);
  if (is_resizing()) {
    // A block that has not moved yet is changed where it is; otherwise it would be in both tables.
    const std::size_t old_cell = old_.locate(tag);
    if (old_.tags[old_cell] == tag) return old_.slot(old_cell, sequence);
  }
  if ((blocks_ + 1) * 10 > current_.cells() * 6) {
    start_resize(current_.cells() * 2);
    cell = current_.locate(tag);
  }
  current_.tags[cell] = tag;
  ++blocks_;
  return current_.slot(cell, sequence);
}

template <unsigned kBlockBits>
bool BasicSequenceIndex<kBlockBits>::erase(std::uint64_t sequence) {
  step_resize();
  if (!erase_from(current_, sequence) && !(is_resizing() && erase_from(old_, sequence)))
    return false;
  --size_;
  if (current_.cells() > kMinCells && blocks_ * 10 < current_.cells() && !is_resizing())
    start_resize(current_.cells() / 2);
  return true;
}

template <unsigned kBlockBits>
bool BasicSequenceIndex<kBlockBits>::erase_from(Table& table, std::uint64_t sequence) {
  const std::size_t cell = table.locate(tag_of(sequence));
  if (std::exchange(table.slot(cell, sequence), kNone) == kNone) return false;
  if (table.is_block_zero(cell)) {
    table.remove_block(cell);
    --blocks_;
  }
  return true;
}

template <unsigned kBlockBits>
void BasicSequenceIndex<kBlockBits>::start_resize(std::size_t cells) {
  JOBBIE_CHECK(!is_resizing());  // kCellsPerStep is chosen so that the last move is long over
  Table next(cells);
  old_ = std::exchange(current_, std::move(next));
  cursor_ = 0;
  while (old_.tags[cursor_] != 0) ++cursor_;
  unswept_ = old_.cells() - 1;
}

/// Moves blocks downwards from an empty cell. So each block that is met is the last of its chain:
/// nothing behind it is reached through it, and it can simply be taken out.
template <unsigned kBlockBits>
void BasicSequenceIndex<kBlockBits>::step_resize() {
  if (!is_resizing()) [[likely]]
    return;
  const std::size_t cells = std::min(kCellsPerStep, unswept_);
  for (std::size_t i = 0; i < cells; ++i) {
    cursor_ = (cursor_ - 1) & old_.mask;
    if (old_.tags[cursor_] == 0) continue;
    current_.copy_block(current_.locate(old_.tags[cursor_]), old_, cursor_);
    old_.clear_block(cursor_);
  }
  unswept_ -= cells;
  if (unswept_ == 0) old_ = Table();
}

template class BasicSequenceIndex<0>;
template class BasicSequenceIndex<3>;

}  // namespace jobbie::engine
