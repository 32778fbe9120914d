// A store of the simplest kind: every change that the engine hands out, in one map.
//
// It answers for ended jobs as a real store would, and lets the runner compare what was written
// down with what a checkpoint says.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "command/item.hpp"
#include "engine/ended_jobs.hpp"

namespace jobbie::script {

/// Items by a text made of their kind and key.
using Items = std::map<std::string, command::Item>;

[[nodiscard]] std::string key_of(const command::Item& item);

class MapStore : public engine::EndedJobs {
 public:
  void apply(const command::Changes& changes);

  std::optional<model::JobRecord> find(base::JobId id) override;
  std::vector<model::JobRecord> dead_in_group(std::string_view group, std::uint64_t after,
                                              std::uint64_t upto, std::size_t limit) override;
  [[nodiscard]] std::optional<model::BatchRecord> batch(base::BatchId id) const;

  /// What a checkpoint must hold too: everything but ended jobs and finished batches.
  [[nodiscard]] Items live() const;

 private:
  void put(const command::Item& item);
  void sweep(const command::SweptJobs& swept);
  [[nodiscard]] model::WindowRecord as_of_now(model::WindowRecord window) const;
  void remove_queue(const command::RemovedQueue& removed);

  Items items_;
};

/// The first difference between two sets of items, in words; empty if there is none.
[[nodiscard]] std::string first_difference(const Items& written, const Items& dumped);

}  // namespace jobbie::script
