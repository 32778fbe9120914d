// A pool of objects of one type with stable addresses, named by 32-bit slots instead of pointers.
//
// Slots are half the size of pointers, which counts in the links of intrusive lists. Objects live
// in chunks that never move, so a reference stays good until its slot is released. Slot 0 is never
// handed out: 0 says "none" in every link field.
//
// A new object goes into the chunk with the lowest number that has room, into the slot freed last,
// whose memory is still in the cache. So objects gather in few chunks, and those that a backlog
// took become empty as it drains. The reuse is a function of the calls alone. Slots must all the
// same not decide any outcome: a replica that started from a snapshot has other slots. Hence no
// iteration, except for audits.
//
// A chunk whose last object goes is given back, but for one: a slab whose size swings about the
// bound of a chunk must not allocate one with every swing. Objects live long at random places keep
// their chunks.
#pragma once

#include <algorithm>
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
    for (const auto& chunk : chunks_)
      if (chunk) unpoison(chunk->cells.data(), sizeof(chunk->cells));
  }

  /// Constructs an object from `args` (the leading members, for an aggregate) and gives its slot.
  /// If the constructor throws, that slot is lost but the slab stays sound.
  template <typename... Args>
  [[nodiscard]] std::uint32_t allocate(Args&&... args) {
    const std::uint32_t slot = take_slot();
    std::construct_at(&cell(slot).object, std::forward<Args>(args)...);
    live_word(slot) |= live_bit(slot);
    ++chunks_[slot / kChunkSlots]->used;
    ++size_;
    return slot;
  }

  /// Destroys the object in `slot`, which must be live.
  void release(std::uint32_t slot) {
    JOBBIE_CHECK(is_live(slot));
    live_word(slot) &= ~live_bit(slot);
    --size_;
    std::destroy_at(&cell(slot).object);
    const std::uint32_t number = slot / kChunkSlots;
    Chunk& chunk = *chunks_[number];
    cell(slot).next_free = std::exchange(chunk.free_head, slot);
    poison(&cell(slot), sizeof(Cell));
    open(number);
    if (--chunk.used == 0) keep_one_empty(number);
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
    return was_handed_out(slot) && chunks_[slot / kChunkSlots] &&
           (live_word(slot) & live_bit(slot)) != 0;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Every slot in use is below this.
  [[nodiscard]] std::uint32_t end_slot() const {
    return static_cast<std::uint32_t>(chunks_.size()) * kChunkSlots;
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t capacity_bytes() const {
    return (chunks_.size() - released_.size()) * sizeof(Chunk) +
           chunks_.capacity() * sizeof(std::unique_ptr<Chunk>) +
           released_.capacity() * sizeof(std::uint32_t) + open_.capacity() * sizeof(std::uint64_t);
  }

  /// Brings the object's cache lines nearer; any number may be asked for.
  void prefetch(std::uint32_t slot) const {
    if (!was_handed_out(slot) || !chunks_[slot / kChunkSlots]) return;
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
    std::uint32_t used = 0;           ///< objects in it
    std::uint32_t free_head = kNone;  ///< of the cells that were used before
    std::uint32_t next_unused = 0;    ///< the first cell that never was; kChunkSlots: none
  };
  static constexpr std::uint32_t kNoChunk = std::numeric_limits<std::uint32_t>::max();
  /// So many that every slot is a 32-bit number.
  static constexpr std::uint32_t kMostChunks = kNoChunk / kChunkSlots;

  [[nodiscard]] bool was_handed_out(std::uint32_t slot) const {
    return slot - 1 < end_ - 1;  // slot 0 wraps round to the largest number
  }
  [[nodiscard]] Cell& cell(std::uint32_t slot) const {
    return chunks_[slot / kChunkSlots]->cells[slot % kChunkSlots];
  }
  [[nodiscard]] std::uint64_t& live_word(std::uint32_t slot) const {
    return chunks_[slot / kChunkSlots]->live[slot % kChunkSlots / 64];
  }
  static std::uint64_t live_bit(std::uint32_t slot) { return std::uint64_t{1} << (slot % 64); }

  /// Takes a cell of the first chunk that has room, or of another chunk.
  std::uint32_t take_slot() {
    const std::uint32_t number = first_open();
    Chunk& chunk = *chunks_[number];
    if (number == empty_) empty_ = kNoChunk;
    std::uint32_t slot = chunk.free_head;
    if (slot != kNone) {
      unpoison(&cell(slot), sizeof(Cell));
      chunk.free_head = cell(slot).next_free;
    } else {
      slot = number * kChunkSlots + chunk.next_unused++;
      end_ = std::max(end_, slot + 1);
    }
    if (chunk.free_head == kNone && chunk.next_unused == kChunkSlots) close(number);
    return slot;
  }

  std::uint32_t first_open() {
    while (first_open_word_ < open_.size() && open_[first_open_word_] == 0) ++first_open_word_;
    if (first_open_word_ == open_.size()) return add_chunk();
    return static_cast<std::uint32_t>(first_open_word_ * 64) +
           static_cast<std::uint32_t>(std::countr_zero(open_[first_open_word_]));
  }

  std::uint32_t add_chunk() {
    JOBBIE_CHECK(!released_.empty() || chunks_.size() < kMostChunks);
    // Default-initialised: zeroing a whole chunk would be work that the constructors do again.
    auto chunk = std::make_unique_for_overwrite<Chunk>();
    auto number = static_cast<std::uint32_t>(chunks_.size());
    if (released_.empty()) {
      open_.resize(number / 64 + 1);
      released_.reserve(number + 1);  // so that giving one back cannot fail
      chunks_.push_back(std::move(chunk));
    } else {
      number = released_.back();
      released_.pop_back();
      chunks_[number] = std::move(chunk);
    }
    if (number == 0) chunks_[0]->next_unused = 1;  // slot 0 is nobody's
    open(number);
    return number;
  }

  void open(std::uint32_t chunk) {
    open_[chunk / 64] |= live_bit(chunk);
    first_open_word_ = std::min<std::size_t>(first_open_word_, chunk / 64);
  }
  void close(std::uint32_t chunk) { open_[chunk / 64] &= ~live_bit(chunk); }

  /// `chunk` has become empty. Of two empty ones the first stays.
  void keep_one_empty(std::uint32_t chunk) {
    if (empty_ == kNoChunk) {
      empty_ = chunk;
      return;
    }
    const std::uint32_t gone = std::max(empty_, chunk);
    empty_ = std::min(empty_, chunk);
    unpoison(chunks_[gone]->cells.data(), sizeof(chunks_[gone]->cells));
    close(gone);
    chunks_[gone].reset();
    released_.push_back(gone);
  }

  template <typename F>
  void for_each_live_in(std::uint32_t chunk, F&& f) const {
    if (!chunks_[chunk]) return;
    for (std::uint32_t word = 0; word < kChunkSlots / 64; ++word) {
      for (std::uint64_t bits = chunks_[chunk]->live[word]; bits != 0; bits &= bits - 1)
        f(chunk * kChunkSlots + word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
    }
  }

  void swap(Slab& other) noexcept {
    std::swap(chunks_, other.chunks_);
    std::swap(open_, other.open_);
    std::swap(released_, other.released_);
    std::swap(first_open_word_, other.first_open_word_);
    std::swap(end_, other.end_);
    std::swap(empty_, other.empty_);
    std::swap(size_, other.size_);
  }

#if defined(__SANITIZE_ADDRESS__)
  static void poison(const void* at, std::size_t size) { ASAN_POISON_MEMORY_REGION(at, size); }
  static void unpoison(const void* at, std::size_t size) { ASAN_UNPOISON_MEMORY_REGION(at, size); }
#else
  static void poison(const void*, std::size_t) {}
  static void unpoison(const void*, std::size_t) {}
#endif

  std::vector<std::unique_ptr<Chunk>> chunks_;  ///< null: given back
  std::vector<std::uint64_t> open_;             ///< a bit for each chunk: it is there and has room
  std::vector<std::uint32_t> released_;         ///< numbers of chunks that were given back
  std::size_t first_open_word_ = 0;             ///< no bit of `open_` is set before it
  std::uint32_t end_ = 1;                       ///< behind the largest slot ever handed out
  std::uint32_t empty_ = kNoChunk;              ///< the chunk without objects that is kept
  std::size_t size_ = 0;
};

}  // namespace jobbie::engine
