// From a job's sequence to its slot: a hash map made for dense, rising numbers.
//
// Neighbouring sequences are created, claimed and finished together, so they share a block: eight
// consecutive sequences are one entry of the hash table, a tag and eight slots. Against a cell for
// each sequence this measured four times as fast in FIFO churn and takes under half the memory
// where sequences are dense; a lone straggler costs a whole block of 40 bytes. Blocks are probed
// linearly and erased by shifting back: there are no tombstones, so a churn of any length leaves no
// trace.
//
// No call rehashes the table. Growing and shrinking allocate the next table, and then each change
// moves a few blocks over; until that is done, a search consults both tables. What is left of a
// stall is calloc's clearing of a table under its mmap threshold (0.6 ms for a million sequences);
// larger ones come zeroed from the kernel, page by page as they are touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace jobbie::engine {

/// Single-threaded. Keys are 1…2^48-1 (base::kMaxSequence), values are non-zero slots. Nothing can
/// be iterated. Memory follows the content: 8 + 4 · 2^kBlockBits bytes a block at a load of 0.1 to
/// 0.6 (and for a while after a change of size the old table too). One that was moved from may only
/// be destroyed or assigned to.
///
/// Invariants: a block is in exactly one of the two tables; every slot of an empty cell is zero;
/// the part of the old table that was already moved is empty.
template <unsigned kBlockBits>
class BasicSequenceIndex {
 public:
  static constexpr std::uint32_t kNone = 0;

  BasicSequenceIndex();

  /// The slot of `sequence`, or kNone. Any number may be asked for.
  [[nodiscard]] std::uint32_t find(std::uint64_t sequence) const {
    const std::uint64_t tag = tag_of(sequence);
    const std::uint32_t slot = current_.slot(current_.locate(tag), sequence);
    if (slot != kNone || unswept_ == 0) [[likely]]
      return slot;
    return old_.slot(old_.locate(tag), sequence);
  }

  /// Adds `sequence`, which must not be present.
  void insert(std::uint64_t sequence, std::uint32_t slot);

  /// Adds `sequence` or gives it another slot.
  void set(std::uint64_t sequence, std::uint32_t slot);

  /// Removes `sequence`; whether it was present.
  bool erase(std::uint64_t sequence);

  /// Brings nearer the memory that find(sequence) will read first.
  void prefetch(std::uint64_t sequence) const { current_.prefetch(tag_of(sequence)); }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t capacity_bytes() const { return current_.bytes() + old_.bytes(); }
  /// Whether an old table is still being moved over (for tests).
  [[nodiscard]] bool is_resizing() const { return unswept_ > 0; }

 private:
  static constexpr std::size_t kBlockSlots = std::size_t{1} << kBlockBits;
  static constexpr std::size_t kMinCells = 64;
  /// Cells of the old table that one call visits. At 32, a table is moved long before the next one
  /// could fill (0.6 of it) or empty (0.05 of it, the tightest case, needs 20).
  static constexpr std::size_t kCellsPerStep = 32;

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  /// One open-addressed table; it never fills, so every probe ends at an empty cell (tag 0).
  struct Table {
    Table() = default;
    explicit Table(std::size_t cells);

    /// Multiplication by the golden ratio lays consecutive tags almost evenly over the table, far
    /// better than chance would.
    [[nodiscard]] std::size_t home(std::uint64_t tag) const {
      return static_cast<std::size_t>((tag * 0x9e3779b97f4a7c15ULL) >> shift);
    }
    [[nodiscard]] std::size_t locate(std::uint64_t tag) const {
      std::size_t cell = home(tag);
      while (tags[cell] != tag && tags[cell] != 0) cell = (cell + 1) & mask;
      return cell;
    }
    [[nodiscard]] std::uint32_t& slot(std::size_t cell, std::uint64_t sequence) const {
      return slots[cell * kBlockSlots + sequence % kBlockSlots];
    }
    [[nodiscard]] std::size_t cells() const { return tags == nullptr ? 0 : mask + 1; }
    [[nodiscard]] std::size_t bytes() const { return cells() * kCellBytes; }
    void prefetch(std::uint64_t tag) const {
      __builtin_prefetch(&tags[home(tag)]);
      __builtin_prefetch(&slots[home(tag) * kBlockSlots]);
    }
    [[nodiscard]] bool is_block_zero(std::size_t cell) const;
    void copy_block(std::size_t to, const Table& from, std::size_t cell);
    void clear_block(std::size_t cell);
    /// Empties `cell` and closes the gap in the chain that ran through it.
    void remove_block(std::size_t cell);

    static constexpr std::size_t kCellBytes =
        sizeof(std::uint64_t) + kBlockSlots * sizeof(std::uint32_t);

    std::unique_ptr<void, Free> memory;
    std::uint64_t* tags = nullptr;   ///< in `memory`
    std::uint32_t* slots = nullptr;  ///< in `memory`, kBlockSlots for each cell
    std::size_t mask = 0;            ///< cells, a power of two, less one
    int shift = 63;                  ///< leaves as many upper bits of a hash as `mask` has
  };

  /// Never 0 for a legal sequence, since 0 marks an empty cell.
  static std::uint64_t tag_of(std::uint64_t sequence) { return (sequence >> kBlockBits) + 1; }

  std::uint32_t exchange(std::uint64_t sequence, std::uint32_t slot);
  std::uint32_t& obtain(std::uint64_t sequence);
  bool erase_from(Table& table, std::uint64_t sequence);
  void start_resize(std::size_t cells);
  void step_resize();

  Table current_;
  Table old_;
  std::size_t unswept_ = 0;  ///< cells of old_ that may still hold blocks; 0: there is no old table
  std::size_t cursor_ = 0;   ///< the cell of old_ last visited; the next is the one before it
  std::size_t blocks_ = 0;   ///< in both tables
  std::size_t size_ = 0;
};

extern template class BasicSequenceIndex<0>;
extern template class BasicSequenceIndex<3>;

/// For sequences, whose neighbours live together.
using SequenceIndex = BasicSequenceIndex<3>;
/// For scattered keys such as hashes: 12 bytes a cell.
using ScatteredIndex = BasicSequenceIndex<0>;

}  // namespace jobbie::engine
