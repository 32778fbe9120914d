// The auditor: everything that is checked after an entry, and what is checked now and then.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "tests/sim/coverage.hpp"
#include "tests/sim/ledger.hpp"
#include "tests/sim/model.hpp"
#include "tests/sim/store.hpp"

namespace jobbie::sim {

/// Lives as long as one seed. Every check gives the first violation as text, or nothing.
class Auditor {
 public:
  /// All three must outlive the auditor.
  Auditor(const Model& model, const Store& store, Coverage& coverage, bool history_only)
      : model_(model), store_(store), coverage_(coverage), history_only_(history_only) {}

  /// Before an entry is applied: notes what a refused call must leave alone (I8), and an idle one.
  void before(const Entry& entry, const engine::Engine& engine);

  /// After every entry.
  std::string after(const Entry& entry, const std::vector<Reply>& expected,
                    const engine::Outcome& outcome, const engine::Engine& engine);

  /// Every few entries and at the end.
  std::string full(const engine::Engine& engine, bool drained);

 private:
  struct Witness {
    std::optional<JobRecord> job;
    std::vector<model::QueueView> queues;
  };

  static std::string compare_replies(const Entry& entry, const std::vector<Reply>& expected,
                                     const engine::Outcome& outcome);
  [[nodiscard]] std::optional<JobRecord> look_up(JobId id, const engine::Engine& engine) const;
  std::string check_witness(const engine::Outcome& outcome, const engine::Engine& engine);
  std::string check_ready(const Entry& entry, const engine::Outcome& outcome,
                          const engine::Engine& engine);
  std::string check_idle(const Entry& entry, const engine::Outcome& outcome,
                         const engine::Engine& engine);
  std::string check_deadline(const Entry& entry, const engine::Engine& engine);
  std::string check_order(const Entry& entry, const engine::Outcome& outcome) const;

  const Model& model_;
  const Store& store_;
  Coverage& coverage_;
  bool history_only_;  ///< ask nothing that needs the model
  Ledger ledger_;
  std::optional<JobId> witness_id_;
  Witness witness_;
  bool idle_ = false;  ///< the entry is one claim, of which the engine says that it changes nothing
  std::optional<model::WorkerRecord> idle_worker_;
  int idle_ticks_ = 0;
  std::set<Seq> known_claimable_;  ///< what a waiting worker has been told of
};

}  // namespace jobbie::sim
