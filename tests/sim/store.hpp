// A store in memory: keyed maps that the engine's drained changes are applied to, in order.
//
// It is the simulator's stand-in for src/store, answers the engine's port for ended jobs from what
// was drained so far, and must at every drain equal the engine's own dump (I17).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "command/item.hpp"
#include "engine/ended_jobs.hpp"
#include "engine/engine.hpp"

namespace jobbie::sim {

/// A value: copying it gives a second engine its own.
class Store final : public engine::EndedJobs {
 public:
  using WindowKey = std::tuple<std::string, bool, std::string>;

  std::optional<model::JobRecord> find(base::JobId id) override;
  std::vector<model::JobRecord> dead_in_group(std::string_view group, std::uint64_t after,
                                              std::uint64_t upto, std::size_t limit) override;

  void apply(const command::Changes& changes);
  void put(const command::Item& item);
  /// Everything, ended jobs and finished batches too; put() of all of it gives an equal store.
  void each(const std::function<void(const command::Item&)>& sink) const;

  [[nodiscard]] const model::JobRecord* ended(base::JobId id) const;
  [[nodiscard]] std::size_t ended_count() const;
  [[nodiscard]] const model::BatchRecord* batch(base::BatchId id) const;

  /// What differs between this and the engine's dump, taken right after a drain; empty: nothing.
  [[nodiscard]] std::string difference(const engine::Engine& engine) const;

  /// As they are written down, with claims that no longer count.
  [[nodiscard]] const std::map<WindowKey, model::WindowRecord>& windows() const { return windows_; }
  void forget_lapsed_windows(base::Instant now);

 private:
  using TallyKey = std::tuple<std::string, model::State, std::int64_t>;

  struct Apply;
  void sweep(const command::SweptJobs& swept);
  [[nodiscard]] std::map<WindowKey, model::WindowRecord> counting_windows(base::Instant now) const;

  std::optional<model::MetaRecord> meta_;
  std::map<std::string, model::QueueRecord> queues_;
  std::map<TallyKey, model::TallyRecord> tallies_;
  std::map<WindowKey, model::WindowRecord> windows_;
  std::map<std::string, model::GroupRecord> groups_;
  std::map<base::JobId, model::JobRecord> jobs_;  ///< live and ended
  std::map<base::BatchId, model::BatchRecord> batches_;
  std::map<base::ScheduleId, model::ScheduleRecord> schedules_;
  std::map<std::string, model::WorkerRecord> workers_;
  std::map<std::pair<base::KeyId, std::string>, model::IdempotencyRecord> idempotency_;
  std::map<std::uint64_t, model::TaskRecord> tasks_;
  std::map<base::BulkId, model::BulkRecord> bulks_;
  std::map<base::KeyId, model::KeyRecord> keys_;
  std::map<base::WebhookId, model::WebhookRecord> webhooks_;
  std::map<base::DeliveryId, model::DeliveryRecord> deliveries_;  ///< ended ones too
};

}  // namespace jobbie::sim
