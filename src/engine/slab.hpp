// A pool of objects of one type with stable addresses, named by 32-bit slots instead of pointers.
//
// Slots are half the size of pointers, which counts in the links of intrusive lists. Objects live
// in chunks that never move, so a reference stays good until its slot is released. Slot 0 is never
// handed out: 0 says "none" in every link field.
//
// Freed slots are reused last in, first out, because their memory is still in the cache; the reuse
// is a function of the calls alone. Slots must all the same not decide any outcome: a replica that
// started from a snapshot has other slots. Hence no iteration, except for audits.
//
// Wholly free chunks are not given back: a slab keeps its peak. Chunks can only empty by chance,
// since the objects in them end in any order, so giving them back would promise what it cannot
// keep.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace jobbie::engine {

/// Single-threaded. Not copyable; moving it keeps slots and addresses. The destructor destroys what
/// is live. Costs beside the objects: one bit each, to catch double release and for the destructor.
/// Under AddressSanitizer a released object is poisoned, so that a stale reference is reported.
template <typename T>
class Slab {
 public:
  static constexpr std::uint32_t kNone = 0;
  static constexpr std::uint32_t kChunkSlots = 4096;
  static constexpr std::size_t kCacheLine = 64;

  Slab() = default;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  Slab(Slab&& other) noexcept { swap(other); }
  Slab& operator=(Slab&& other) noexcept {
    Slab(std::move(other)).swap(*this);
    return *this;
  }
  ~Slab() {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      for_each_live([](std::uint32_t, T& object) { object.~T(); });
    }
    for (const auto& chunk : chunks_) unpoison(chunk->cells.data(), sizeof(chunk->cells));
  }

  /// Constructs an object from `args` (the leading members, for an aggregate) and gives its slot.
  /// If the constructor throws, that slot is lost but the slab stays sound.
  template <typename... Args>
  [[nodiscard]] std::uint32_t allocate(Args&&... args) {
    const std::uint32_t slot = take_slot();
    std::construct_at(&cell(slot).object, std::forward<Args>(args)...);
    live_word(slot) |= live_bit(slot);
    ++size_;
    return slot;
  }

  /// Destroys the object in `slot`, which must be live.
  void release(std::uint32_t slot) {
    JOBBIE_CHECK(is_live(slot));
    live_word(slot) &= ~live_bit(slot);
    --size_;
    std::destroy_at(&cell(slot).object);
    cell(slot).next_free = std::exchange(free_head_, slot);
    poison(&cell(slot), sizeof(Cell));
  }

  /// The object in `slot`, which must be live. Release builds check only that the slot was ever
  /// handed out: looking at the live bit would cost a second cache line. Inlined by force, since
  /// compilers count the check's text and make it a call.
  [[nodiscard, gnu::always_inline]] T& operator[](std::uint32_t slot) {
    JOBBIE_CHECK(was_handed_out(slot));
    return cell(slot).object;
  }
  [[nodiscard, gnu::always_inline]] const T& operator[](std::uint32_t slot) const {
    JOBBIE_CHECK(was_handed_out(slot));
    return cell(slot).object;
  }

  /// Whether `slot` holds an object; false for any number that was never a slot.
  [[nodiscard]] bool is_live(std::uint32_t slot) const {
    return was_handed_out(slot) && (live_word(slot) & live_bit(slot)) != 0;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t capacity_bytes() const {
    return chunks_.size() * sizeof(Chunk) + chunks_.capacity() * sizeof(std::unique_ptr<Chunk>);
  }

  /// Brings the object's cache lines nearer; any number may be asked for.
  void prefetch(std::uint32_t slot) const {
    if (!was_handed_out(slot)) return;
    const char* begin = reinterpret_cast<const char*>(&cell(slot));
    for (std::size_t at = 0; at < sizeof(Cell); at += kCacheLine) __builtin_prefetch(begin + at, 1);
  }

  /// Calls `f(slot, object)` for every live object in ascending order of slots. For audits alone:
  /// the order differs between replicas. `f` must not allocate or release.
  template <typename F>
  void for_each_live(F&& f) {
    for (std::uint32_t chunk = 0; chunk < chunks_.size(); ++chunk)
      for_each_live_in(chunk, [&](std::uint32_t slot) { f(slot, cell(slot).object); });
  }
  template <typename F>
  void for_each_live(F&& f) const {
    for (std::uint32_t chunk = 0; chunk < chunks_.size(); ++chunk)
      for_each_live_in(chunk,
                       [&](std::uint32_t slot) { f(slot, std::as_const(cell(slot).object)); });
  }

 private:
  /// A free cell holds the link of the free list where the object was.
  union Cell {
    Cell() {}   // NOLINT(modernize-use-equals-default): the object is constructed by allocate()
    ~Cell() {}  // NOLINT(modernize-use-equals-default)
    T object;
    std::uint32_t next_free;
  };
  struct Chunk {
    // Cells first, on a cache line, so that a T of 64 or 128 bytes never straddles one more.
    alignas(64) alignas(Cell) std::array<Cell, kChunkSlots> cells;
    std::array<std::uint64_t, kChunkSlots / 64> live{};
  };

  [[nodiscard]] bool was_handed_out(std::uint32_t slot) const {
    return slot - 1 < next_unused_ - 1;  // slot 0 wraps round to the largest number
  }
  [[nodiscard]] Cell& cell(std::uint32_t slot) const {
    return chunks_[slot / kChunkSlots]->cells[slot % kChunkSlots];
  }
  [[nodiscard]] std::uint64_t& live_word(std::uint32_t slot) const {
    return chunks_[slot / kChunkSlots]->live[slot % kChunkSlots / 64];
  }
  static std::uint64_t live_bit(std::uint32_t slot) { return std::uint64_t{1} << (slot % 64); }

  /// Takes a cell out of the free list, or the next one that was never used.
  std::uint32_t take_slot() {
    if (free_head_ != kNone) {
      const std::uint32_t slot = free_head_;
      unpoison(&cell(slot), sizeof(Cell));
      free_head_ = cell(slot).next_free;
      return slot;
    }
    JOBBIE_CHECK(next_unused_ < std::numeric_limits<std::uint32_t>::max());
    // Default-initialised: zeroing a whole chunk would be work that the constructors do again.
    if (next_unused_ / kChunkSlots == chunks_.size())
      chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
    return next_unused_++;
  }

  template <typename F>
  void for_each_live_in(std::uint32_t chunk, F&& f) const {
    for (std::uint32_t word = 0; word < kChunkSlots / 64; ++word) {
      for (std::uint64_t bits = chunks_[chunk]->live[word]; bits != 0; bits &= bits - 1)
        f(chunk * kChunkSlots + word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
    }
  }

  void swap(Slab& other) noexcept {
    std::swap(chunks_, other.chunks_);
    std::swap(free_head_, other.free_head_);
    std::swap(next_unused_, other.next_unused_);
    std::swap(size_, other.size_);
  }

#if defined(__SANITIZE_ADDRESS__)
  static void poison(const void* at, std::size_t size) { ASAN_POISON_MEMORY_REGION(at, size); }
  static void unpoison(const void* at, std::size_t size) { ASAN_UNPOISON_MEMORY_REGION(at, size); }
#else
  static void poison(const void*, std::size_t) {}
  static void unpoison(const void*, std::size_t) {}
#endif

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::uint32_t free_head_ = kNone;
  std::uint32_t next_unused_ = 1;
  std::size_t size_ = 0;
};

}  // namespace jobbie::engine
