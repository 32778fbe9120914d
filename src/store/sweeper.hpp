// The sweeper: carries out sweeps and drops old batches and what is old in the audit log and
// among the deliveries of webhooks, a slice
// at a time.
//
// Works on the writer's thread between its transactions, each slice a transaction of its own, so
// that a sweep of millions of rows holds nobody up. Sweeps stand in the file until they are done:
// a crash forgets none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "store/change_writer.hpp"
#include "store/overlay.hpp"
#include "store/sqlite.hpp"

namespace jobbie::store {

inline constexpr std::int64_t kRowsPerSlice = 2'000;

class Sweeper {
 public:
  /// All must outlive it.
  static base::Result<Sweeper> make(Connection& connection, ChangeWriter& writer, Overlay& overlay);

  /// One slice of the oldest sweep in the file, or of old batches. Says whether it found any work.
  base::Result<bool> slice();

 private:
  struct Row {
    std::int64_t number = 0;
    Sweep sweep;
  };
  Sweeper(Connection& connection, ChangeWriter& writer, Overlay& overlay)
      : connection_(&connection), writer_(&writer), overlay_(&overlay) {}
  base::Result<std::optional<Row>> oldest();
  /// Deletes up to kRowsPerSlice rows; true when none are left.
  base::Result<bool> delete_rows(const Row& row);
  base::Result<bool> delete_batches();
  base::Result<std::int64_t> delete_actions(base::Instant now);
  base::Result<std::int64_t> delete_deliveries(base::Instant now);
  base::Result<std::int64_t> count_rows(Statement& statement);
  base::Result<void> finish(const Row& row);
  std::unexpected<base::Error> failed();

  Connection* connection_;
  ChangeWriter* writer_;
  Overlay* overlay_;
  Statement oldest_;
  Statement select_;
  Statement forget_;
  Statement batches_;
  Statement audit_;
  Statement deliveries_;
  Statement now_;
  std::int64_t current_ = 0;      ///< the sweep that the place below belongs to
  std::int64_t after_ended_ = 0;  ///< rows up to here have been looked at …
  std::int64_t after_seq_ = 0;    ///< … and among those that ended then, up to here
  base::Instant batches_checked_;
};

}  // namespace jobbie::store
