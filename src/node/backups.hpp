// The thread that makes copies of the database for those who ask for a backup.
//
// One copy exists at a time: from the moment it is asked for until the last byte is sent, or its
// client has gone. It is a file in the data directory that loses its name as soon as it is
// complete, so nothing is left of it whatever ends the process after that; what a crash before that
// leaves is removed at the next start.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/journal.hpp"
#include "base/result.hpp"
#include "call/call.hpp"

namespace jobbie::store {
class Store;
}

namespace jobbie::node {

class Backups {
 public:
  /// `store` and `journal` (null: silent) must outlive it.
  Backups(store::Store& store, const std::string& data_dir, base::Journal* journal);
  /// Cancels what is being made; copies that are being sent are not touched.
  ~Backups();
  Backups(const Backups&) = delete;
  Backups& operator=(const Backups&) = delete;

  /// From any thread; never waits. The copy has everything up to the index `after`, and comes back
  /// with the call.
  void make(std::unique_ptr<call::Call> call, std::uint64_t after);

 private:
  void work();
  void answer(call::Call& call, std::uint64_t after);
  base::Result<call::Backup> copy(const call::Call& call);
  /// Until the database has everything up to `after`; an error: it cannot, or there is no room.
  base::Result<void> prepare(const call::Call& call, std::uint64_t after);
  /// Sets `cancelled_` where nobody waits for the copy any more.
  void look_around(const call::Call& call);

  store::Store& store_;
  const std::string path_;
  base::Journal* journal_;
  /// Whether there is a copy. Shared with the copy, which may outlive us.
  std::shared_ptr<std::atomic<bool>> taken_ = std::make_shared<std::atomic<bool>>(false);
  std::atomic<bool> cancelled_ = false;  ///< of the copy that is being made
  std::atomic<bool> stopping_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<call::Call> waiting_;
  std::uint64_t after_ = 0;
  std::thread thread_;
};

}  // namespace jobbie::node
