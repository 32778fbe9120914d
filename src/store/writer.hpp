// The writer: one thread that turns hand-overs into transactions.
//
// Each transaction holds whole hand-overs and the index they bring the state to, so the file is
// always the state at one entry of the log. A transaction that fails is rolled back and tried again
// every second; nothing is lost meanwhile, since the overlay keeps what is not committed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "store/change_writer.hpp"
#include "store/checkpointer.hpp"
#include "store/overlay.hpp"
#include "store/sqlite.hpp"
#include "store/sweeper.hpp"
#include "store/trouble.hpp"

namespace jobbie::store {

/// A transaction takes in hand-overs until it has this many changes.
inline constexpr std::size_t kRowsPerTransaction = 10'000;
inline constexpr std::chrono::milliseconds kRetryEvery{1'000};
/// Others give memory back within moments.
inline constexpr std::chrono::milliseconds kRetryForMemory{20};

class Writer {
 public:
  /// All must outlive it.
  Writer(Overlay& overlay, Checkpointer& checkpointer, TroubleBox& trouble)
      : overlay_(overlay), checkpointer_(checkpointer), trouble_(trouble) {}
  ~Writer() { stop(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  struct Begin {
    std::uint64_t applied_index = 0;
    std::function<void()> on_written;  ///< after each commit, on the writer's thread
  };
  base::Result<void> start(Connection connection, Begin begin);
  /// Ends the thread after the present transaction; what is not written stays unwritten.
  void stop();
  /// Writes everything handed over, then ends the thread. False: it could not.
  bool finish();

  /// Of the file; zero is no bound. From the next transaction on.
  void set_max_pages(std::uint64_t pages) { max_pages_.store(pages); }

  /// Of the transaction that is not committed, how much is written: so many rows, but for the
  /// last few.
  [[nodiscard]] std::uint64_t rows_under_way() const { return rows_under_way_.load(); }
  [[nodiscard]] std::uint64_t written_index() const { return written_index_.load(); }
  bool wait_until_written(std::uint64_t index, std::chrono::milliseconds timeout);

  /// Of the database after the latest commit, and of its write-ahead log.
  [[nodiscard]] std::uint64_t file_pages() const { return file_pages_.load(); }
  [[nodiscard]] std::uint64_t wal_pages() const { return wal_pages_seen_.load(); }

  /// For the last checkpoint, once the thread has ended.
  Connection& connection() { return connection_; }

 private:
  enum class Ending : std::uint8_t { no, abandon, finish };
  /// Wakes the thread, waits for its end and lets go of its statements.
  void end(Ending ending);

  void loop();
  /// False: it failed and trouble is set.
  bool write(const std::vector<const HandOver*>& batch);
  bool bound_file();
  bool write_rows(const std::vector<const HandOver*>& batch);
  /// In proportion to what was written, so that a writer without a pause keeps the file level.
  bool sweep(std::uint64_t rows_written);
  void roll_back(base::Error error);
  void need_less_memory();
  void note_size();
  void pause();

  Overlay& overlay_;
  Checkpointer& checkpointer_;
  TroubleBox& trouble_;
  Connection connection_;
  std::optional<ChangeWriter> changes_;
  std::optional<Sweeper> sweeper_;
  Statement page_count_;
  std::function<void()> on_written_;
  int wal_pages_ = 0;  ///< after the latest commit
  bool busy_sweeping_ = false;
  std::size_t rows_at_once_ = kRowsPerTransaction;  ///< fewer while memory is short
  bool lacks_memory_ = false;                       ///< the latest failure was for want of memory
  std::atomic<std::uint64_t> rows_under_way_{0};
  std::atomic<std::uint64_t> written_index_{0};
  std::atomic<std::uint64_t> file_pages_{0};
  std::atomic<std::uint64_t> wal_pages_seen_{0};
  std::atomic<std::uint64_t> max_pages_{0};
  std::uint64_t bounded_pages_ = 0;  ///< the bound that the connection knows
  std::atomic<Ending> ending_{Ending::no};

  std::mutex mutex_;
  std::condition_variable written_;
  std::condition_variable pause_;
  std::thread thread_;
};

}  // namespace jobbie::store
