// A queue in one array that grows by doubling and costs nothing while it was never used.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace jobbie::http {

template <typename T>
class Ring {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }

  T& push_back(T value) {
    if (count_ == cells_.size()) grow();
    T& cell = cells_[(first_ + count_++) & (cells_.size() - 1)];
    cell = std::move(value);
    return cell;
  }

  void pop_front() {
    JOBBIE_CHECK(count_ > 0);
    cells_[first_] = T{};
    first_ = (first_ + 1) & (cells_.size() - 1);
    --count_;
  }

  /// Gives memory back after a burst; small rings keep theirs.
  void shrink() {
    if (count_ > 0 || cells_.size() <= kKeptCells) return;
    cells_ = std::vector<T>();
    first_ = 0;
  }

  T& operator[](std::size_t at) {
    JOBBIE_CHECK(at < count_);
    return cells_[(first_ + at) & (cells_.size() - 1)];
  }
  T& front() { return (*this)[0]; }
  T& back() { return (*this)[count_ - 1]; }

 private:
  void grow() {
    std::vector<T> larger(cells_.empty() ? 1 : cells_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move((*this)[i]);
    cells_ = std::move(larger);
    first_ = 0;
  }

  static constexpr std::size_t kKeptCells = 16;
  std::vector<T> cells_;  ///< as many as a power of two, or none
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace jobbie::http
