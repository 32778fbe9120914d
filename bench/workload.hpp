// What the benchmark feeds the engine: jobs of 200 bytes in a few variants, and a store that knows
// nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "engine/ended_jobs.hpp"
#include "engine/engine.hpp"

namespace jobbie::bench {

inline constexpr std::size_t kPayloadBytes = 200;
inline constexpr std::size_t kWorkers = 64;
inline constexpr std::size_t kTenants = 100;

enum class Variant {
  plain,
  unique,    ///< every job has a unique key of its own
  limits,    ///< concurrency and throttle of the whole queue, set but never reached
  keyed,     ///< the same and a concurrency limit for each of a hundred tenants
  fairness,  ///< fairness=group with a hundred groups in each queue
};
[[nodiscard]] const char* to_string(Variant variant);

/// Nothing has ever ended, as far as this store can tell.
class NoEndedJobs : public engine::EndedJobs {
 public:
  std::optional<model::JobRecord> find(base::JobId) override { return std::nullopt; }
  std::vector<model::JobRecord> dead_in_group(std::string_view, std::uint64_t, std::uint64_t,
                                              std::size_t) override {
    return {};
  }
};

/// Makes jobs and claims, in turn over its queues. Log time goes on by a millisecond for every
/// thousand jobs made, as it would at a million a second.
class Workload {
 public:
  Workload(Variant variant, std::size_t queues);

  [[nodiscard]] model::JobSpec next_job();
  /// Names one queue, in turn.
  [[nodiscard]] command::Claim next_claim();
  /// Names all queues by a glob.
  [[nodiscard]] command::Claim claim_any();
  [[nodiscard]] command::Entry entry(std::size_t commands) const;
  [[nodiscard]] base::Instant now() const;

  /// Sets the limits and the fairness of the variant.
  void set_up(engine::Engine& engine) const;
  /// Enqueues `jobs` in requests of a thousand, draining as it goes; the seconds that it took in
  /// `apply` and `drain_changes`.
  double fill(engine::Engine& engine, std::size_t jobs);

 private:
  Variant variant_;
  std::vector<base::Blob> queues_;
  std::vector<base::Blob> workers_;
  std::vector<base::Blob> tags_;
  std::vector<base::Blob> groups_;
  std::string filler_;
  std::uint64_t made_ = 0;
  std::uint64_t claims_ = 0;
};

}  // namespace jobbie::bench
