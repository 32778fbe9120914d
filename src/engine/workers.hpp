// Workers: who asks for jobs, when it was last heard of, and how many jobs it holds.
//
// An entry is kept while the worker is known or holds a job: one that was dropped may come back and
// find its jobs counted. Jobs name their worker by its slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "command/command.hpp"
#include "command/item.hpp"
#include "engine/change_log.hpp"
#include "engine/job.hpp"
#include "engine/memory_account.hpp"
#include "engine/queue_state.hpp"
#include "model/records.hpp"

namespace jobbie::engine {

class Workers {
 public:
  Workers(MemoryAccount& memory, std::uint64_t hash_seed)
      : memory_(memory), entries_(0, TextHash{hash_seed}), slots_(1) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  struct Seen {
    const Worker* worker = nullptr;  ///< null: anonymous, or unknown and not claiming
    bool joined = false;             ///< it was not known before
  };
  /// A worker has been heard of. Its first claim makes it known, if there is room.
  /// `caller`: the restricted key that it came with; nil: none.
  Seen see(const Blob& id, const command::Claim* claim, Instant now, base::KeyId caller);
  /// A worker says all that it is; whether it was not known before. There must be room.
  bool enrol(const model::WorkerSpec& spec, Instant now, base::KeyId owner);
  /// Adds one that was loaded and is not known.
  void restore(model::WorkerRecord record) { add(std::move(record)); }
  /// A known worker is known no longer. Its entry stays while it holds jobs.
  void remove(const Blob& id, ChangeLog& changes);
  /// The ids of workers that hold nothing and have been silent for too long, in order.
  ///
  /// Looks at all workers, but only when one of them may have been silent long enough: the moment
  /// kept for that is never too late, and looking too early changes nothing.
  [[nodiscard]] std::vector<Blob> find_silent(Instant now);
  /// When find_silent() may find somebody; base::kNever: nobody.
  [[nodiscard]] Instant checked_at() const { return checked_at_; }

  /// Counts an active job with its worker; `worker` null: to be looked up.
  void begin_holding(Job& job, const Worker* worker);
  void end_holding(Job& job);

  /// A known worker; null: there is none of that id.
  [[nodiscard]] const Worker* find(std::string_view id) const;
  /// Whether to see the worker of this claim again would bring no news but the time.
  [[nodiscard]] bool is_as_known(const command::Claim& c, Instant since, base::KeyId key) const;
  [[nodiscard]] bool is_full() const { return known_ >= model::limits::kWorkers; }
  [[nodiscard]] std::size_t count() const { return known_; }
  /// Slots are below this; the entry in one, or null.
  [[nodiscard]] std::size_t slots() const { return slots_.size(); }
  [[nodiscard]] const Worker* at(Slot slot) const { return slots_[slot]; }
  /// All entries, also of workers that are not known.
  [[nodiscard]] const TextMap<Worker>& entries() const { return entries_; }
  /// Whether an active job names its worker; for invariants.
  [[nodiscard]] bool is_held_right(const Job& job) const;

  [[nodiscard]] std::size_t undrained() const { return changed_.size(); }
  void drain(command::Changes& out);
  void shrink();

 private:
  Worker* find_known(std::string_view id);
  Worker& add(model::WorkerRecord record);
  /// The entry of a worker, made if need be: it may be one that is not known.
  Worker& make(std::string_view id);
  void drop(Worker& worker, std::string_view id);
  void restate(Worker& worker, const command::Claim& claim);
  void expect_silence(const Worker& worker);
  void changed(Worker& worker);

  MemoryAccount& memory_;
  TextMap<Worker> entries_;
  std::vector<Worker*> slots_;  ///< entries by slot; slot 0 is nobody
  std::vector<Slot> free_;
  std::size_t known_ = 0;
  Instant checked_at_ = base::kNever;  ///< no worker has been silent long enough before
  std::vector<std::string> changed_;
};

}  // namespace jobbie::engine
