// The checkpointer: copies SQLite's write-ahead log back into the main file, off the writer.
//
// It owns a thread and a connection. After each run that copied everything it saw, the log index
// that was committed before the run is durable; DESIGN.md says why.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.hpp"
#include "store/files.hpp"
#include "store/sqlite.hpp"
#include "store/trouble.hpp"

namespace jobbie::store {

/// A run begins when the write-ahead log has grown by this many pages …
inline constexpr int kCheckpointPages = 25'000;
/// … and a writer that has filled this many waits for a run to end, which lets the file start over.
inline constexpr int kMaxWalPages = 50'000;

class Checkpointer {
 public:
  /// `trouble` must outlive it.
  explicit Checkpointer(TroubleBox& trouble) : trouble_(trouble) {}
  ~Checkpointer() { stop(); }
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  struct Begin {
    std::string path;
    WriteOut& file;  ///< of the same path; must outlive it
    std::chrono::milliseconds interval{};
    std::uint64_t index = 0;         ///< of the latest commit
    std::uint64_t durable = 0;       ///< everything up to here is known to be synced
    std::function<bool()> in_place;  ///< whether the files still have their names
  };
  base::Result<void> start(const Begin& begin);
  void stop();

  /// The writer's: a transaction with this index is committed, and the write-ahead log has so many
  /// pages.
  void committed(std::uint64_t index, int wal_pages);
  /// The writer's: waits for one whole run that begins now, at most `timeout`.
  void run_and_wait(std::chrono::milliseconds timeout);
  /// From any thread: a run soon, whatever the interval.
  void request();

  [[nodiscard]] std::uint64_t durable_index() const { return durable_index_.load(); }
  void set_durable(std::uint64_t index) { durable_index_.store(index); }

 private:
  void loop();
  [[nodiscard]] bool is_due() const;
  void run_once(std::uint64_t index);

  TroubleBox& trouble_;
  std::string wal_path_;
  Connection connection_;
  std::chrono::milliseconds interval_{};
  std::function<bool()> in_place_;
  std::atomic<std::uint64_t> durable_index_{0};

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable ran_;
  bool stop_ = false;
  bool requested_ = false;
  int wal_pages_ = 0;        ///< after the latest commit
  int pages_at_last_ = 0;    ///< when the latest run began
  std::uint64_t index_ = 0;  ///< of the latest commit
  std::uint64_t runs_begun_ = 0;
  std::uint64_t runs_ended_ = 0;
  std::thread thread_;
};

}  // namespace jobbie::store
