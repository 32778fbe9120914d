// Immutable, reference counted bytes: how payloads travel between threads without being copied.
//
// A Blob is one pointer. Copying it shares the bytes; the count is atomic, so replies and store
// rows may be dropped on another thread than the one that made them. An empty Blob owns nothing,
// and "absent" and "empty" are the same: JSON values are never empty, so absence needs no flag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace jobbie::base {

class Blob {
 public:
  Blob() = default;
  explicit Blob(std::string_view bytes);
  Blob(const Blob& other) noexcept : block_(other.block_) { retain(); }
  Blob(Blob&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Blob& operator=(const Blob& other) noexcept {
    if (block_ == other.block_) return *this;
    other.retain();
    release();
    block_ = other.block_;
    return *this;
  }
  Blob& operator=(Blob&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Blob() { release(); }

  [[nodiscard]] std::string_view view() const {
    return block_ == nullptr ? std::string_view{} : std::string_view{block_->bytes(), block_->size};
  }
  [[nodiscard]] std::size_t size() const { return block_ == nullptr ? 0 : block_->size; }
  [[nodiscard]] bool empty() const { return block_ == nullptr; }
  explicit operator bool() const { return block_ != nullptr; }
  /// Brings the bytes' first cache line nearer, for one who is about to copy or read the blob.
  void prefetch() const { __builtin_prefetch(block_, 1); }
  friend bool operator==(const Blob& a, const Blob& b) { return a.view() == b.view(); }

  /// What one blob of `size` bytes takes beside its bytes (for accounting).
  static constexpr std::size_t kHeaderBytes = 8;

 private:
  struct Block {
    std::uint32_t refs;
    std::uint32_t size;
    [[nodiscard]] const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
    [[nodiscard]] char* bytes() { return reinterpret_cast<char*>(this + 1); }
  };
  static_assert(sizeof(Block) == kHeaderBytes);

  void retain() const noexcept {
    if (block_ != nullptr) __atomic_fetch_add(&block_->refs, 1, __ATOMIC_RELAXED);
  }
  void release() noexcept {
    if (block_ == nullptr) return;
    // The only owner needs no atomic write: nobody else can be copying what only we hold.
    if (__atomic_load_n(&block_->refs, __ATOMIC_ACQUIRE) == 1 ||
        __atomic_fetch_sub(&block_->refs, 1, __ATOMIC_ACQ_REL) == 1)
      destroy(block_);
  }
  static void destroy(Block* block) noexcept;

  Block* block_ = nullptr;
};

}  // namespace jobbie::base
