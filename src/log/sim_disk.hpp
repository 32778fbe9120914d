// A disk in memory that fails in the ways that disks do. For tests and simulations.
//
// It keeps for every file what is durable and what only the cache knows, sector by sector. A crash
// keeps of each unsynced sector either the old or the new bytes, each by the toss of a coin, and of
// the unsynced changes to a directory some first ones. Any operation can be made to fail, or to be
// the last one before the power goes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "log/disk.hpp"

namespace jobbie::log {

class SimDisk final : public Disk {
 public:
  static constexpr std::size_t kSectorBytes = 512;

  explicit SimDisk(std::uint64_t seed) : random_(seed) {}
  /// All files as a reader sees them now, durable, on a disk without faults.
  [[nodiscard]] SimDisk clone(std::uint64_t seed = 0) const;
  /// The same of what is durable: as if the power had gone, and with it all that could go.
  [[nodiscard]] SimDisk clone_durable() const;

  base::Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  base::Result<void> rename(const std::string& from, const std::string& to) override;
  base::Result<void> remove(const std::string& path) override;
  base::Result<std::vector<std::string>> list(const std::string& directory) override;
  base::Result<void> sync_directory(const std::string& directory) override;
  base::Result<void> make_directory(const std::string& directory) override;
  base::Result<std::unique_ptr<DirectoryLock>> lock(const std::string& directory) override;
  std::uint64_t free_bytes(const std::string& directory) override;

  /// How many operations that change something there were: writes, syncs, renames and so on.
  [[nodiscard]] std::uint64_t operations() const { return operations_; }
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

  /// The power goes during operation `n` (counted from 1 over the disk's life): it is done in part
  /// or not at all, and every later one fails.
  void lose_power_at(std::uint64_t n) { power_loss_at_ = n; }
  [[nodiscard]] bool powerless() const { return powerless_; }
  /// Operation `n` fails with `code`, and all after it up to and including `until`.
  void fail_at(std::uint64_t n, std::string_view code, std::uint64_t until = 0);
  /// Space for all files together; writes that need more fail with kDiskFull.
  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  /// sync() of files succeeds and does nothing: a disk that lies.
  void lie_about_syncs(bool lie) { lying_ = lie; }

  /// The power is back: what was not durable is lost, in part, by chance. All open files must be
  /// gone.
  void restart_after_power_loss();
  /// The process was restarted: nothing is lost, and nothing more durable than before.
  void restart_process();

  /// The bytes of a file as a reader sees them, to be damaged. Null if there is none.
  [[nodiscard]] std::string* bytes(const std::string& path);
  [[nodiscard]] std::vector<std::string> paths() const;

 private:
  friend class SimFile;
  friend class SimLock;

  struct Node {
    std::string cache;
    std::string durable;
    std::set<std::size_t> dirty;  ///< sectors that differ, or may
  };
  using NodePointer = std::shared_ptr<Node>;  // shared: a file open while it is renamed or removed
  using Directory = std::map<std::string, NodePointer>;

  /// Counts an operation. An error if it must fail; `partly` if the power goes during it.
  struct Verdict {
    std::optional<base::Error> error;
    bool partly = false;
  };
  Verdict begin_operation();
  base::Result<void> write(Node& node, std::uint64_t offset, std::string_view bytes);
  base::Result<void> write_out(Node& node);
  base::Result<void> sync(Node& node);
  base::Result<void> change_directory(Directory next);
  [[nodiscard]] std::uint64_t used() const;
  bool toss() { return (random_() & 1) != 0; }

  std::mt19937_64 random_;
  Directory now_;
  Directory durable_;
  std::vector<Directory> unsynced_;  ///< the directory after each change since its last sync
  std::uint64_t operations_ = 0;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t power_loss_at_ = 0;
  std::uint64_t fail_from_ = 0;
  std::uint64_t fail_until_ = 0;
  std::string fail_code_;
  std::uint64_t capacity_ = UINT64_MAX;
  bool powerless_ = false;
  bool lying_ = false;
  bool locked_ = false;
};

}  // namespace jobbie::log
