// The ledger: invariants checked from the history of commands, replies and events alone.
//
// It does not know the model. It writes down who was promised what, and complains when a later
// reply or event does not fit: I1–I3, I7, I9, I11–I14, I20, I21, I25 of the reliability page.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "command/reply.hpp"
#include "engine/engine.hpp"

namespace jobbie::sim {

class Ledger {
 public:
  /// Reads one entry and what it came to. The first contradiction, or nothing.
  std::string read(const command::Entry& entry, const engine::Outcome& outcome,
                   const engine::Engine& engine);

  /// Every promised job is there, or its end was told (I1). Takes time in proportion to the
  /// history.
  [[nodiscard]] std::string check_all(const engine::Engine& engine) const;

 private:
  struct Life {
    std::string queue;
    std::string group;
    bool told = false;     ///< an `enqueued` event has been seen
    bool ended = false;    ///< by event
    bool deleted = false;  ///< by event
    base::BatchId batch;
    std::uint64_t lease = 0;  ///< the latest one; live while `leased`
    bool leased = false;
    base::Instant leased_until;          ///< not to be delivered again before this
    base::Instant lease_ends;            ///< the same, of the lease alone
    std::uint32_t attempt = 0;           ///< of the latest delivery
    bool reset = false;                  ///< attempts may have started anew since
    std::optional<base::Blob> accepted;  ///< the result of the ack that was accepted
  };
  struct Claims {
    struct One {
      base::Instant at;
      base::Blob tags;
      base::Blob group;
    };
    std::vector<One> all;         ///< since the throttle was last set
    bool limits_changed = false;  ///< in this entry
    bool claimed = false;         ///< in this entry
    bool wiped = false;           ///< ever cleared or destroyed
  };
  struct Batch {
    std::uint64_t members = 0;
    std::uint64_t ended = 0;
    bool called_back = false;
    bool has_callback = false;
  };
  struct Promise {
    std::uint64_t fingerprint = 0;
    base::Instant until;
    command::Reply reply;
  };

  struct Reader;  ///< one overload per verb, in ledger.cpp

  std::string read_event(const command::Event& event, const engine::Engine& engine);
  std::string read_new_job(base::JobId id, Life& life, const engine::Engine& engine);
  std::string read_claim(const command::ClaimedJob& job, const engine::Engine& engine);
  std::string read_promise(const command::Idempotency& key, const command::Reply& reply);
  std::string read_callback(const model::JobRecord& job);
  static base::Instant held_until(const model::JobRecord& job);
  void settle(base::JobId id);
  void extend_leases(base::Duration lost, base::Instant before, const engine::Engine& engine);
  void count_ended(Life& life);
  std::string check_limits(const engine::Engine& engine);
  std::string check_leases(const engine::Engine& engine);
  Claims& claims_of(const base::Blob& queue) { return claims_[std::string(queue.view())]; }

  base::Instant now_;
  std::uint64_t last_lease_ = 0;
  std::map<base::JobId, Life> lives_;
  std::set<base::JobId> promised_;         ///< made by a request, in this entry
  std::set<base::JobId> asked_to_delete_;  ///< in this entry
  std::set<base::JobId> leased_;
  std::map<std::string, Claims> claims_;
  std::map<base::BatchId, Batch> batches_;
  std::map<std::pair<base::KeyId, std::string>, Promise> promises_;
  std::set<std::pair<base::ScheduleId, base::Instant>> runs_;
  bool unseen_jobs_ = false;  ///< some were made and removed within one entry
};

}  // namespace jobbie::sim
