// The store: the engine's checkpoint and everybody's query surface, one SQLite file.
//
// The node hands over the engine's changes together with the log index they bring the state to. The
// store shows them at once, writes them behind, and says how far the file has come: what is written
// survives the process, what is durable survives the machine, and the log may be cut behind it.
// DESIGN.md beside this file says how; docs/formats/database.md describes the tables.
//
// Threads: the store has two of its own (writer, checkpointer). write(), find_ended() and
// dead_in_group() belong to the node's thread, everything else may be called from any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.hpp"
#include "base/result.hpp"
#include "command/item.hpp"
#include "search/filter.hpp"
#include "store/space.hpp"

namespace jobbie::store {

struct Options {
  std::string path;
  std::size_t cache_bytes = std::size_t{32} << 20;  ///< the writer's; readers take a quarter each
  std::size_t readers = 2;                          ///< concurrent job() and batch() calls
  std::size_t searchers = 2;                        ///< concurrent searches, lists and job logs
  std::chrono::milliseconds search_time{5'000};     ///< after which a search gives up
  /// A run of the checkpointer after this long at the latest, when anything was written.
  std::chrono::milliseconds checkpoint_every{10'000};
  /// The most pages of 4 KiB the file may have; past it the store says `disk_full`. Zero: no bound.
  std::uint64_t max_pages = 0;
  /// Called on the writer's thread after each commit; must not block, nor call the store.
  std::function<void()> on_written;
};

/// Asked now and then by whoever works on a question, on that thread: true ends the work with
/// `cancelled`. An empty one never does.
using IsCancelled = std::function<bool()>;

/// A job that is dead or waits for another try.
struct Failure {
  base::JobId job;
  base::Blob queue;
  model::State state = model::State::dead;
  base::Blob error;  ///< the latest; where there is none, the reason of the end
  base::Instant at;
};

/// Which actions of the audit log are wanted, newest first; an empty text is no condition.
struct AuditWanted {
  std::uint64_t before = 0;  ///< numbers below this one; zero: from the newest on
  std::size_t limit = 1;
  std::string_view key;  ///< a key's id or name
  std::string_view action;
  std::string_view target;
  base::Instant since;
  base::Instant until = base::kMaxInstant;
};

/// Which deliveries of a webhook are wanted, newest first.
struct DeliveriesWanted {
  base::WebhookId webhook;
  std::uint64_t before = 0;  ///< sequences below this one; zero: from the newest on
  std::size_t limit = 1;
  std::optional<model::DeliveryState> state;  ///< nothing: all
};

/// How far a copy has come.
struct CopyProgress {
  std::uint64_t bytes = 0;
  std::uint64_t total = 0;
};

struct Copied {
  std::uint64_t applied_index = 0;  ///< the copy is the state at this entry of the log
  std::uint64_t bytes = 0;
  std::uint64_t wal_bytes = 0;  ///< what the write-ahead log had grown to when all was read
};

class Store {
 public:
  /// Creates the file, or brings its schema up to date. Refuses a newer schema (`newer_schema`), a
  /// file of another program (`foreign_database`) and a damaged one (`corrupt_database`).
  [[nodiscard]] static base::Result<std::unique_ptr<Store>> open(const Options& options);
  /// Without close() before it: what is not written is left to the log, as after a crash.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// The log index that the file's content stands at; zero for a new one.
  [[nodiscard]] std::uint64_t applied_index() const { return written_index(); }

  /// The hot state in the file: every item but ended jobs and finished batches. No meta record
  /// means that nothing was ever written. For the start, before the first write().
  [[nodiscard]] base::Result<void> load(
      const std::function<base::Result<void>(command::Item)>& sink);

  /// Never waits for the disk. Indexes must not go down.
  void write(std::uint64_t index, command::Changes changes);

  /// Handed over and not yet written.
  struct Lag {
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;
    std::uint64_t batches = 0;
  };
  [[nodiscard]] Lag lag() const;
  /// Little of what was handed over is left to write: what comes now is there when it is wanted.
  [[nodiscard]] bool wants_more() const;

  [[nodiscard]] std::uint64_t written_index() const;
  /// Synced: the log may be cut up to here. Advances with the checkpointer's runs.
  [[nodiscard]] std::uint64_t durable_index() const;
  bool wait_until_written(std::uint64_t index, std::chrono::milliseconds timeout);
  /// Asks for a run of the checkpointer now, for a node whose log grows long.
  void request_checkpoint();

  /// Another bound than Options::max_pages, from the next transaction on.
  void set_max_pages(std::uint64_t pages);

  /// The job, if it has ended and is kept; all that was handed over counts.
  [[nodiscard]] base::Result<std::optional<model::JobRecord>> find_ended(base::JobId id);
  /// Up to `limit` dead jobs of a group with after < sequence ≤ upto, in order of sequence.
  [[nodiscard]] base::Result<std::vector<model::JobRecord>> dead_in_group(std::string_view group,
                                                                          std::uint64_t after,
                                                                          std::uint64_t upto,
                                                                          std::size_t limit);

  /// Live or ended, as last handed over.
  [[nodiscard]] base::Result<std::optional<model::JobRecord>> job(base::JobId id);
  [[nodiscard]] base::Result<std::optional<model::BatchRecord>> batch(base::BatchId id);

  // What follows may have to read much, and sees only what is written: wait_until_written() comes
  // first. Each gives up with `search_too_slow` after Options::search_time, and with `cancelled` as
  // soon as `is_cancelled` says so.

  /// Lines of a job's log behind line `after`, at most `limit`.
  [[nodiscard]] base::Result<model::LogPage> job_log(base::JobId id, std::uint64_t after,
                                                     std::size_t limit,
                                                     const IsCancelled& is_cancelled = {});
  /// Hands out the newest dead jobs and the newest retrying ones with their latest errors, of one
  /// queue or (empty) of all; at most `limit` of each state. Whether there are more.
  [[nodiscard]] base::Result<bool> failures(std::string_view queue, std::size_t limit,
                                            const std::function<void(Failure)>& sink,
                                            const IsCancelled& is_cancelled = {});
  [[nodiscard]] base::Result<search::Page> search(const search::Request& request,
                                                  const IsCancelled& is_cancelled = {});
  /// Up to `limit` jobs that match, after < sequence ≤ upto, in the order of their sequences.
  struct SliceOptions {
    std::uint64_t after = 0;
    std::uint64_t upto = 0;
    std::size_t limit = 0;
  };
  [[nodiscard]] base::Result<std::vector<base::JobId>> slice(const search::Filter& filter,
                                                             const SliceOptions& options,
                                                             const IsCancelled& is_cancelled = {});
  struct Count {
    std::uint64_t matches = 0;
    std::uint64_t last = 0;  ///< the sequence of the latest job
  };
  [[nodiscard]] base::Result<Count> count(const search::Filter& filter,
                                          const IsCancelled& is_cancelled = {});
  /// Up to `limit` batches with sequences below `before`, the latest first; `finished` nothing:
  /// all.
  [[nodiscard]] base::Result<std::vector<model::BatchRecord>> batches(
      std::optional<bool> finished, std::uint64_t before, std::size_t limit,
      const IsCancelled& is_cancelled = {});

  /// Actions of the audit log with their numbers, newest first.
  [[nodiscard]] base::Result<std::vector<std::pair<std::uint64_t, model::AuditRecord>>> audit(
      const AuditWanted& wanted, const IsCancelled& is_cancelled = {});

  /// Deliveries of webhooks.
  [[nodiscard]] base::Result<std::vector<model::DeliveryRecord>> deliveries(
      const DeliveriesWanted& wanted, const IsCancelled& is_cancelled = {});
  [[nodiscard]] base::Result<std::optional<model::DeliveryRecord>> delivery(base::DeliveryId id);

  /// Writes the state at one index, the latest that is written, to a new file at `path`, which is
  /// complete without any other beside it, and syncs it and its folder. A file that is there is
  /// replaced; after an error none is left. `progress` is called every few megabytes.
  ///
  /// The writer goes on meanwhile, but while the file is read, its write-ahead log cannot start
  /// over and durable_index() stands. Where it grows past the size of the database (and
  /// kWalBesideCopy), the copy gives up with `copy_outpaced`. Setting `cancelled` ends it with
  /// `cancelled`. It must have returned before close().
  [[nodiscard]] base::Result<Copied> copy_to(
      const std::string& path, const std::atomic<bool>& cancelled,
      const std::function<void(const CopyProgress&)>& progress = {});

  /// Refuses with `disk_full` where `path` has no room for a copy as the database is now.
  [[nodiscard]] base::Result<void> room_for_copy(const std::string& path) const;

  /// What the files take and hold, for space_needed().
  [[nodiscard]] FileSpace file_space() const;

  /// Whether database and write-ahead log still stand where they were opened. Where not,
  /// durable_index() stands still, and copies and searches are refused with `database_gone`.
  [[nodiscard]] bool files_in_place() const;
  /// For a store whose files are not: ends the writing, and copies all that was handed over from
  /// the open files to `path`, durable when it returns. May be called again after an error; lookups
  /// go on.
  [[nodiscard]] base::Result<void> save(const std::string& path);
  /// After save(): moves files of others that stand where the store's were to
  /// `<database>.replaced`, so that nothing of theirs is lost either.
  [[nodiscard]] base::Result<void> put_others_aside();

  /// What stands in the way: `disk_full`, `disk_error`, `database_busy` and `out_of_memory` pass by
  /// themselves, for the writer tries again every second, for memory more often.
  /// `corrupt_database`, `database_gone` and `sync_failed` stay. A lookup that failed leaves its
  /// error here too.
  [[nodiscard]] std::optional<base::Error> trouble() const;
  /// Somebody has met damage in the file: what is handed over from now on may never be written.
  [[nodiscard]] bool is_damaged() const;

  /// Writes and syncs everything and ends the threads. Nothing may be called afterwards.
  [[nodiscard]] base::Result<void> close();

 private:
  class Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The write-ahead log may always grow to this while a copy is made.
inline constexpr std::uint64_t kWalBesideCopy = std::uint64_t{1} << 30;
inline constexpr std::string_view kCancelled = "cancelled";
inline constexpr std::string_view kCopyOutpaced = "copy_outpaced";

/// The index that a database file stands at, a copy or one of a closed store; refuses what
/// Store::open refuses.
[[nodiscard]] base::Result<std::uint64_t> applied_index_of(const std::string& path);

/// `jobbie db check`: reads the whole file and compares what is said twice. No findings: all is
/// well. An error: the file could not be examined at all.
[[nodiscard]] base::Result<std::vector<std::string>> check_database(const std::string& path);

}  // namespace jobbie::store
