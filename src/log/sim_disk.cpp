// The simulated disk: caches, sectors, and what a crash leaves of them.
#include "log/sim_disk.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace jobbie::log {
namespace {

base::Error simulated(std::string_view code, std::string message) {
  return {std::string(code), "simulated: " + std::move(message)};
}

/// Copies one sector; `to` grows as needed.
void copy_sector(const std::string& from, std::string& to, std::size_t sector) {
  const auto begin = sector * SimDisk::kSectorBytes;
  if (begin >= from.size()) return;
  const auto bytes = std::min(SimDisk::kSectorBytes, from.size() - begin);
  if (to.size() < begin + bytes) to.resize(begin + bytes);
  std::memcpy(to.data() + begin, from.data() + begin, bytes);
}

}  // namespace

class SimFile final : public File {
 public:
  SimFile(SimDisk& disk, SimDisk::NodePointer node) : disk_(disk), node_(std::move(node)) {}

  base::Result<void> write_at(std::uint64_t offset, std::string_view bytes) override {
    return disk_.write(*node_, offset, bytes);
  }
  base::Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) override {
    if (disk_.powerless_) return std::unexpected(simulated(kDiskFailed, "no power"));
    const auto& cache = node_->cache;
    if (offset >= cache.size()) return std::size_t{0};
    const auto count = std::min(into.size(), cache.size() - static_cast<std::size_t>(offset));
    std::memcpy(into.data(), cache.data() + offset, count);
    disk_.bytes_read_ += count;
    return count;
  }
  base::Result<void> write_out(std::uint64_t, std::uint64_t) override {
    return disk_.write_out(*node_);
  }
  base::Result<void> sync() override { return disk_.sync(*node_); }
  base::Result<std::uint64_t> size() override { return node_->cache.size(); }
  base::Result<void> reserve(std::uint64_t bytes) override {
    const auto more = bytes > node_->cache.size() ? bytes - node_->cache.size() : 0;
    if (disk_.used() + more > disk_.capacity_)
      return std::unexpected(simulated(kDiskFull, "no space"));
    return {};
  }
  bool stands_at(const std::string& path) const override {
    const auto found = disk_.now_.find(path);
    return found != disk_.now_.end() && found->second == node_;
  }

 private:
  SimDisk& disk_;
  SimDisk::NodePointer node_;
};

class SimLock final : public DirectoryLock {
 public:
  explicit SimLock(SimDisk& disk) : disk_(disk) { disk_.locked_ = true; }
  ~SimLock() override { disk_.locked_ = false; }
  bool stands_at(const std::string&) const override { return true; }

 private:
  SimDisk& disk_;
};

SimDisk SimDisk::clone(std::uint64_t seed) const {
  SimDisk copy(seed);
  for (const auto& [path, node] : now_) {
    auto twin = std::make_shared<Node>();
    twin->cache = twin->durable = node->cache;
    copy.now_[path] = std::move(twin);
  }
  copy.durable_ = copy.now_;
  return copy;
}

SimDisk SimDisk::clone_durable() const {
  SimDisk copy(0);
  for (const auto& [path, node] : durable_) {
    auto twin = std::make_shared<Node>();
    twin->cache = twin->durable = node->durable;
    copy.now_[path] = std::move(twin);
  }
  copy.durable_ = copy.now_;
  return copy;
}

void SimDisk::fail_at(std::uint64_t n, std::string_view code, std::uint64_t until) {
  fail_from_ = n;
  fail_until_ = std::max(n, until);
  fail_code_ = code;
}

SimDisk::Verdict SimDisk::begin_operation() {
  if (powerless_) return {simulated(kDiskFailed, "no power"), false};
  ++operations_;
  if (operations_ == power_loss_at_) {
    powerless_ = true;
    return {simulated(kDiskFailed, "the power went"), true};
  }
  if (fail_from_ != 0 && operations_ >= fail_from_ && operations_ <= fail_until_)
    return {simulated(fail_code_, "asked to fail"), false};
  return {};
}

std::uint64_t SimDisk::used() const {
  std::uint64_t sum = 0;
  for (const auto& [path, node] : now_) sum += node->cache.size();
  return sum;
}

base::Result<void> SimDisk::write(Node& node, std::uint64_t offset, std::string_view bytes) {
  const auto verdict = begin_operation();
  if (verdict.error && !verdict.partly) return std::unexpected(*verdict.error);
  const auto begin = static_cast<std::size_t>(offset);
  const auto end = begin + bytes.size();
  if (end > node.cache.size()) {
    if (used() + (end - node.cache.size()) > capacity_)
      return std::unexpected(simulated(kDiskFull, "no space"));
    node.cache.resize(end);
  }
  std::memcpy(node.cache.data() + begin, bytes.data(), bytes.size());
  for (auto sector = begin / kSectorBytes; sector * kSectorBytes < end; ++sector)
    node.dirty.insert(sector);
  if (verdict.error) return std::unexpected(*verdict.error);
  return {};
}

/// Nothing is durable after it, but it may be what fails.
base::Result<void> SimDisk::write_out(Node& node) {
  const auto verdict = begin_operation();
  if (!verdict.error) return {};
  if (!verdict.partly) node.dirty.clear();
  return std::unexpected(*verdict.error);
}

base::Result<void> SimDisk::sync(Node& node) {
  const auto verdict = begin_operation();
  if (verdict.error) {
    // After a failed sync the system takes the pages for clean: they will not be written again.
    if (!verdict.partly) node.dirty.clear();
    return std::unexpected(*verdict.error);
  }
  if (lying_) return {};
  for (const auto sector : node.dirty) copy_sector(node.cache, node.durable, sector);
  if (node.durable.size() < node.cache.size()) node.durable.resize(node.cache.size());
  node.dirty.clear();
  return {};
}

base::Result<void> SimDisk::change_directory(Directory next) {
  now_ = std::move(next);
  unsynced_.push_back(now_);
  return {};
}

base::Result<std::unique_ptr<File>> SimDisk::open(const std::string& path, OpenMode mode) {
  if (mode == OpenMode::create) {
    const auto verdict = begin_operation();
    if (verdict.error) return std::unexpected(*verdict.error);
    auto next = now_;
    next[path] = std::make_shared<Node>();
    if (auto changed = change_directory(std::move(next)); !changed)
      return std::unexpected(changed.error());
  }
  if (powerless_) return std::unexpected(simulated(kDiskFailed, "no power"));
  const auto found = now_.find(path);
  if (found == now_.end()) return std::unexpected(simulated(kNoSuchFile, "no file " + path));
  return std::make_unique<SimFile>(*this, found->second);
}

base::Result<void> SimDisk::rename(const std::string& from, const std::string& to) {
  const auto verdict = begin_operation();
  if (verdict.error && !(verdict.partly && toss())) return std::unexpected(*verdict.error);
  auto next = now_;
  const auto found = next.find(from);
  if (found == next.end()) return std::unexpected(simulated(kNoSuchFile, "no file " + from));
  next[to] = found->second;
  next.erase(from);
  const auto changed = change_directory(std::move(next));
  if (verdict.error) return std::unexpected(*verdict.error);
  return changed;
}

base::Result<void> SimDisk::remove(const std::string& path) {
  const auto verdict = begin_operation();
  if (verdict.error) return std::unexpected(*verdict.error);
  auto next = now_;
  if (next.erase(path) == 0) return std::unexpected(simulated(kNoSuchFile, "no file " + path));
  return change_directory(std::move(next));
}

base::Result<std::vector<std::string>> SimDisk::list(const std::string& directory) {
  if (powerless_) return std::unexpected(simulated(kDiskFailed, "no power"));
  std::vector<std::string> names;
  const auto prefix = directory + "/";
  for (const auto& [path, node] : now_)
    if (path.starts_with(prefix)) names.push_back(path.substr(prefix.size()));
  return names;
}

base::Result<void> SimDisk::sync_directory(const std::string& /*directory*/) {
  const auto verdict = begin_operation();
  if (verdict.error) return std::unexpected(*verdict.error);
  durable_ = now_;
  unsynced_.clear();
  return {};
}

base::Result<void> SimDisk::make_directory(const std::string& /*directory*/) { return {}; }

base::Result<std::unique_ptr<DirectoryLock>> SimDisk::lock(const std::string& directory) {
  if (locked_) return std::unexpected(simulated(kDirectoryInUse, directory));
  return std::make_unique<SimLock>(*this);
}

void SimDisk::restart_after_power_loss() {
  // Changes to a directory reach the disk in order; how many did is chance.
  if (!unsynced_.empty()) {
    const auto kept = random_() % (unsynced_.size() + 1);
    if (kept > 0) durable_ = unsynced_[kept - 1];
  }
  unsynced_.clear();
  now_ = durable_;
  for (auto& [path, node] : now_) {
    // Sometimes all or nothing, else each sector for itself.
    const auto fate = random_() % 4;
    for (const auto sector : node->dirty)
      if (fate == 0 || (fate > 1 && toss())) copy_sector(node->cache, node->durable, sector);
    node->dirty.clear();
    node->cache = node->durable;
  }
  restart_process();
}

void SimDisk::restart_process() {
  powerless_ = false;
  power_loss_at_ = 0;
  fail_from_ = 0;
  lying_ = false;
}

std::string* SimDisk::bytes(const std::string& path) {
  const auto found = now_.find(path);
  if (found == now_.end()) return nullptr;
  return &found->second->cache;
}

std::vector<std::string> SimDisk::paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, node] : now_) paths.push_back(path);
  return paths;
}

std::uint64_t SimDisk::free_bytes(const std::string& /*directory*/) {
  const auto taken = used();
  return capacity_ > taken ? capacity_ - taken : 0;
}

}  // namespace jobbie::log
