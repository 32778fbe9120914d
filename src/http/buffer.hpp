// The bytes of a request that has not come whole yet. Most connections have none most of the time,
// and then this holds no memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

namespace jobbie::http {

class Buffer {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::span<char> data() { return {bytes_.get(), size_}; }
  /// The room behind the data; `grow()` says that it has been filled so far.
  [[nodiscard]] std::span<char> room() { return {bytes_.get() + size_, capacity_ - size_}; }
  void grow(std::size_t by) { size_ += by; }

  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ > 0) std::memcpy(larger.get(), bytes_.get(), size_);
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }

  /// Holds `rest` and nothing else; it may be part of what is held now.
  void keep(std::span<const char> rest) {
    if (rest.empty()) {
      size_ = 0;
      return;
    }
    const bool ours = rest.data() >= bytes_.get() && rest.data() < bytes_.get() + capacity_;
    if (!ours) {
      size_ = 0;
      reserve(rest.size());
    }
    if (rest.data() != bytes_.get()) std::memmove(bytes_.get(), rest.data(), rest.size());
    size_ = rest.size();
  }

  void release() {
    bytes_.reset();
    size_ = capacity_ = 0;
  }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace jobbie::http
