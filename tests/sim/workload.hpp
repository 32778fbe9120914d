// The hostile workload: entries drawn from a seed, aimed at the model's present state.
//
// It asks for jobs that exist, have ended, were deleted or never were; names leases that live, are
// stale or made up; puts entries on, just before and just after deadlines, lets time stand, jump
// and go back, forgets ticks, and now and then sends values that no honest caller would send.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "command/command.hpp"
#include "command/reply.hpp"
#include "tests/sim/model.hpp"
#include "tests/sim/personality.hpp"
#include "tests/sim/rng.hpp"

namespace jobbie::sim {

class Workload {
 public:
  /// All three must outlive the workload.
  Workload(Rng& rng, const Personality& personality, const Model& model);

  /// The first entries: settings that make the seed what it is.
  Entry opening();
  /// `engine_deadline` is what the engine asks for, one of the moments to aim at.
  Entry next(Instant engine_deadline);
  /// What the entry came to, so that later entries can refer to it.
  void learn(const Entry& entry, const std::vector<Reply>& replies);

  /// For the end of a seed: what an honest worker and operator would do next; see simulation.cpp.
  Entry recover();
  Entry honest_round(Instant at);

 private:
  struct Held {
    JobId job;
    std::uint64_t lease = 0;
    Blob worker;
  };

  // workload.cpp: time, and which verb comes.
  Instant next_time(Instant engine_deadline);
  Instant aimed_time(Instant engine_deadline);
  Instant some_deadline(Instant engine_deadline);
  std::size_t next_verb();
  Command next_command();
  Command make(std::size_t verb);
  void relieve(Entry& entry);
  void prune(Entry& entry);

  // workload_jobs.cpp: specs and small values.
  JobSpec job_spec();
  void add_times(JobSpec& spec);
  void add_routing(JobSpec& spec);
  void add_dependencies(JobSpec& spec);
  Blob payload();
  Duration duration();
  Duration lease_length();
  command::Idempotency idempotency();
  Command enqueue();
  Command enqueue_many();
  Command claim();

  // workload_verbs.cpp: everything else.
  Command ack();
  Command append_logs();
  Command fail();
  Command heartbeat();
  Command by_hand(std::size_t verb);
  Command queue_command();
  Command concurrency();
  Command throttle();
  Command retention();
  Command group_command();
  model::ScheduleSpec schedule_spec();
  base::ScheduleId some_schedule();
  Command update_schedule();
  Command schedule_command();
  Command update_zone();
  Command resume(Duration gap);
  Command register_worker();

  // workload_admin.cpp
  Command administer(std::size_t verb);
  Command start_bulk();
  Command bulk_step();
  Command end_bulk();
  Command restrict_next();
  base::KeyId some_key();
  Command set_limits();
  Command forget_queues();
  Command record_action();
  Command create_key();
  Command revoke_key();
  Command put_webhook();
  Command retry_delivery();
  Command settle_delivery();
  base::WebhookId some_webhook();

  void make_odd(Command& command);

  // workload_targets.cpp: whom a command means.
  JobId random_job(const std::function<bool(const JobRecord&)>& fits, bool ended);
  JobId some_job();
  JobId job_for(std::size_t verb);
  JobId stray_job();
  command::LeaseRef lease_ref();
  Blob some_queue();
  Blob some_group();
  Blob some_worker();
  std::vector<Blob> some_patterns();

  Rng& rng_;
  const Personality& personality_;
  const Model& model_;
  std::uint64_t made_ = 0;           ///< makes payloads differ
  std::vector<JobId> past_jobs_;     ///< a ring: any that ever were
  std::vector<Held> past_leases_;    ///< a ring: leases given out
  std::vector<Command> past_calls_;  ///< a ring: acks and fails, to be said again
  std::size_t ring_ = 0;
};

/// Small sets of names, so that commands meet.
namespace pool {
extern const std::vector<Blob> queues;
extern const std::vector<Blob> groups;
extern const std::vector<Blob> workers;
extern const std::vector<Blob> roles;
extern const std::vector<Blob> marks;  ///< tags that workers have
extern const std::vector<Blob> keys;
extern const std::vector<Blob> tags;
extern const std::vector<Blob> pers;
extern const std::vector<Blob> crons;
extern const std::vector<Blob> schedule_names;
extern const std::vector<Blob> idempotency_keys;
}  // namespace pool

/// Made-up zones with clock changes near the simulated times; `variant` changes the rules.
model::ZoneRules test_zone(std::uint64_t which, std::uint64_t variant);

}  // namespace jobbie::sim
