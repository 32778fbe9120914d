// Copies of the database for nodes that lack too much of the log, made beside the node's work.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/result.hpp"
#include "store/store.hpp"

namespace jobbie::node {

/// Makes one copy at a time, on a thread of its own.
class SnapshotMaker {
 public:
  /// `store` must outlive it; `directory` is made anew, empty. `made` is called on the maker's
  /// thread when a copy has been made, or could not be.
  SnapshotMaker(store::Store& store, std::string directory, std::function<void()> made);
  ~SnapshotMaker();

  /// Begins a copy unless one is being made.
  void start();
  [[nodiscard]] bool busy() const { return thread_.joinable(); }
  /// What became of the copy, once: the log's index of the state in it.
  [[nodiscard]] std::optional<base::Result<std::uint64_t>> result();
  /// Of the latest copy.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Whoever is reading it at the moment may go on.
  void remove();

 private:
  store::Store& store_;
  std::string directory_;
  std::string path_;
  std::uint64_t number_ = 0;
  std::function<void()> made_;
  std::thread thread_;
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> finished_ = false;
  base::Result<std::uint64_t> outcome_ = 0;
};

}  // namespace jobbie::node
