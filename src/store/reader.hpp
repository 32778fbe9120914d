// Lookups in the file, on a read-only connection of their own.
//
// A reader is used by one thread at a time; the pool lends them out. What they answer is what is
// committed: overlay and sweeps are the caller's business.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "command/item.hpp"
#include "store/job_rows.hpp"
#include "store/overlay.hpp"
#include "store/sqlite.hpp"

namespace jobbie::store {

class Reader {
 public:
  static base::Result<Reader> open(const std::string& path, std::size_t cache_bytes);

  /// With errors. Nothing if the row has another id than the number says.
  base::Result<std::optional<JobRow>> job(base::JobId id);
  base::Result<std::optional<model::BatchRecord>> batch(base::BatchId id);
  /// Up to `limit` rows (job, revision) of dead jobs in a group, after < sequence ≤ upto, in order.
  base::Result<std::vector<std::pair<model::JobRecord, std::uint64_t>>> dead_in_group(
      std::string_view group, std::uint64_t after, std::uint64_t upto, std::size_t limit);

  /// For questions that are asked too rarely to keep a statement.
  [[nodiscard]] Connection& connection() { return connection_; }

 private:
  Connection connection_;
  Statement job_;
  Statement errors_;
  Statement batch_;
  Statement dead_;
};

/// From any thread; who finds all readers lent out waits for one.
class ReaderPool {
 public:
  base::Result<void> open(const std::string& path, std::size_t readers, std::size_t cache_bytes);
  /// Runs `use` with a reader.
  void with(const std::function<void(Reader&)>& use);
  void close();

 private:
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Reader>> free_;
};

/// Columns of batch_rows in the order that read_batch expects.
inline constexpr std::string_view kBatchColumns =
    "id, total, pending, succeeded, failed, callback_queue, callback_payload, callback_job_id, "
    "finished_at";
base::Result<model::BatchRecord> read_batch(const Statement& row);

/// What meta_row says.
struct FileState {
  std::uint64_t applied_index = 0;
  std::uint64_t writes = 0;
  std::optional<model::MetaRecord> meta;
};
base::Result<FileState> read_file_state(Connection& connection);
base::Result<Sweeps> read_sweeps(Connection& connection);

/// Every item but ended jobs and finished batches.
base::Result<void> load_items(Connection& connection,
                              const std::function<base::Result<void>(command::Item)>& sink);

}  // namespace jobbie::store
