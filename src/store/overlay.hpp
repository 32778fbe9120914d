// The overlay: what has been handed over and is not in the file yet.
//
// The node's thread adds hand-overs, the writer's thread takes them in order and drops them once
// they are committed, any thread looks jobs up. One lock guards it all; it is held for a few map
// operations at a time and never while anybody waits for the disk.
//
// A lookup asks the overlay first and the file after it. What is dropped here is committed, so a
// file read that begins after the overlay's answer sees it. Sweeps hide rows of older revisions,
// here and in the file, until the sweeper has removed them; a lookup takes the list of sweeps along
// with the overlay's answer for the same reason.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "command/item.hpp"

namespace jobbie::store {

/// Finished batches are kept this long.
inline constexpr base::Duration kBatchesKept = base::days(30);
/// The audit log reaches back so far, and has at most so many rows.
inline constexpr base::Duration kAuditKept = base::days(90);
inline constexpr std::uint64_t kAuditRows = 100'000;
/// Deliveries of webhooks that have ended.
inline constexpr base::Duration kDeliveriesKept = base::days(7);
inline constexpr std::int64_t kDeliveryRows = 100'000;

struct HandOver {
  std::uint64_t index = 0;   ///< of the log, which the changes bring the state to
  std::uint64_t number = 0;  ///< counts hand-overs over the file's whole life
  command::Changes changes;
  std::size_t rows = 0;  ///< that it will write, about
  std::size_t bytes = 0;
};

/// Ended jobs of `queue` and `state` that ended before `before` and were written before `revision`
/// are gone.
struct Sweep {
  base::Blob queue;
  model::State state = model::State::completed;
  base::Instant before;
  std::uint64_t revision = 0;

  [[nodiscard]] bool hides(const model::JobRecord& job, std::uint64_t job_revision) const {
    return job_revision < revision && job.state == state && job.ended_at < before &&
           job.spec.queue == queue;
  }
};
using Sweeps = std::vector<Sweep>;
/// Shared because a lookup keeps reading its list while the next hand-over makes a new one.
using SweepList = std::shared_ptr<const Sweeps>;

[[nodiscard]] bool is_hidden(const Sweeps& sweeps, const model::JobRecord& job,
                             std::uint64_t revision);

/// Whether a batch has been finished for longer than batches are kept.
[[nodiscard]] bool is_expired(const model::BatchRecord& batch, base::Instant now);

class Overlay {
 public:
  struct Begin {
    std::uint64_t number = 0;  ///< of the last hand-over that is in the file
    base::Instant now;
    Sweeps sweeps;  ///< in the file and not carried out
  };
  void begin(Begin begin);

  struct Lag {
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;
    std::uint64_t batches = 0;
  };

  // The node's side.
  void add(std::uint64_t index, command::Changes changes);
  [[nodiscard]] Lag lag() const;

  // The writer's side.
  /// The oldest hand-overs, whole ones, until they hold `rows` changes; none after `timeout` or
  /// wake(). They stay where they are until drop().
  std::vector<const HandOver*> wait(std::size_t rows, std::chrono::milliseconds timeout);
  void wake();
  /// Everything up to that hand-over is committed.
  void drop(std::uint64_t number);
  /// A sweep and those it covers have been carried out.
  void swept(const Sweep& done);

  // Lookups.
  template <typename Record>
  struct Found {
    bool known = false;  ///< the file need not be asked
    std::optional<Record> record;
    SweepList sweeps;
    base::Instant now;
  };
  [[nodiscard]] Found<model::JobRecord> job(base::JobId id) const;
  [[nodiscard]] Found<model::BatchRecord> batch(base::BatchId id) const;

  /// Dead jobs of a group with after < sequence ≤ upto, at most `limit`, in order.
  [[nodiscard]] std::vector<model::JobRecord> dead_in_group(std::string_view group,
                                                            std::uint64_t after, std::uint64_t upto,
                                                            std::size_t limit) const;
  /// Changes with every drop() and swept(): equal before and after a file read, it shows that the
  /// overlay held everything that the read could not see.
  [[nodiscard]] std::uint64_t drops() const;
  /// Of jobs read from the file: which are superseded here or hidden.
  [[nodiscard]] std::vector<bool> superseded(
      const std::vector<std::pair<model::JobRecord, std::uint64_t>>& rows) const;

 private:
  template <typename What>
  struct Entry {
    std::uint64_t number = 0;
    const What* what = nullptr;  ///< in a hand-over; null: removed
  };

  void note(const HandOver& hand_over, const command::Change& change, Sweeps* sweeps);
  void note_job(std::uint64_t seq, Entry<command::Change> entry);
  void forget(std::uint64_t number, const command::Change& change);
  void forget_job(std::uint64_t number, std::uint64_t seq);
  void drop_slices(const HandOver& hand_over);

  mutable std::mutex mutex_;
  std::condition_variable work_;
  bool woken_ = false;
  std::deque<std::unique_ptr<HandOver>> hand_overs_;
  std::unordered_map<std::uint64_t, Entry<command::Change>> jobs_;
  std::unordered_map<std::uint64_t, Entry<model::BatchRecord>> batches_;
  std::map<std::pair<std::string, std::uint64_t>, const model::JobRecord*, std::less<>> dead_;
  SweepList sweeps_ = std::make_shared<const Sweeps>();
  std::uint64_t number_ = 0;
  std::uint64_t drops_ = 0;
  base::Instant now_;
  Lag lag_;
};

}  // namespace jobbie::store
