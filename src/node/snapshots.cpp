// A thread a copy: they are rare, and long.
#include "node/snapshots.hpp"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace jobbie::node {

SnapshotMaker::SnapshotMaker(store::Store& store, std::string directory, std::function<void()> made)
    : store_(store), directory_(std::move(directory)), made_(std::move(made)) {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
  std::filesystem::create_directories(directory_, ignored);
}

SnapshotMaker::~SnapshotMaker() {
  cancelled_ = true;
  if (thread_.joinable()) thread_.join();
}

void SnapshotMaker::start() {
  if (busy()) return;
  remove();
  path_ = directory_ + "/" + std::to_string(++number_) + ".db";
  finished_ = false;
  thread_ = std::thread([this] {
    auto copied = store_.copy_to(path_, cancelled_);
    if (copied)
      outcome_ = copied->applied_index;
    else
      outcome_ = std::unexpected(copied.error());
    finished_ = true;
    made_();
  });
}

std::optional<base::Result<std::uint64_t>> SnapshotMaker::result() {
  if (!busy() || !finished_) return std::nullopt;
  thread_.join();
  return std::exchange(outcome_, 0);
}

void SnapshotMaker::remove() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove(path_, ignored);
}

}  // namespace jobbie::node
