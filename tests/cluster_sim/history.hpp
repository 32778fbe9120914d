// What has happened in the whole cluster, and whether it may have.
//
// It applies every committed entry once more, to an engine of its own, the first time that any node
// applies it, and reads it into the ledger of the single-engine simulator. Whatever a node applies,
// loads, answers or shows later is compared with that. It sees everything at once and takes part in
// nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command/command.hpp"
#include "command/reply.hpp"
#include "engine/engine.hpp"
#include "log/configuration.hpp"
#include "tests/cluster_sim/options.hpp"
#include "tests/sim/ledger.hpp"
#include "tests/sim/rng.hpp"
#include "tests/sim/store.hpp"

namespace jobbie::cluster_sim {

using NodeId = std::uint64_t;

enum class OpKind : std::uint8_t { write, local_read, strong_read };
enum class Outcome : std::uint8_t {
  open,
  ok,
  refused,  ///< nothing has happened, and never will
  unknown,
};

/// A call of a client, from its beginning to its end.
struct Op {
  std::uint64_t id = 0;
  std::uint32_t client = 0;
  OpKind kind = OpKind::write;
  std::vector<command::Command> commands;
  NodeId through = 0;
  std::uint64_t floor = 0;  ///< of a read: the entry that it must show
  Outcome outcome = Outcome::open;
  std::uint64_t index = 0;  ///< where it was applied; 0: nowhere so far
  std::vector<command::Reply> replies;
};
using OpPointer = std::shared_ptr<Op>;

/// An op's share of an entry.
struct Share {
  OpPointer op;
  std::size_t first = 0;
  std::size_t count = 0;
};

class History {
 public:
  History(Counts& counts, std::uint64_t seed);

  /// The first thing that was wrong; empty: nothing so far.
  [[nodiscard]] const std::string& violation() const { return violation_; }
  void hold(std::string violation);

  /// A leader has stamped an entry, by whose random number it is known from now on. `led_us`: for
  /// how long somebody has led so far.
  void proposed(const command::Entry& entry, std::vector<Share> shares, std::int64_t led_us);
  void leads(NodeId node, std::uint64_t term);
  /// A node has applied an entry; its engine is in the state after it.
  void applied(NodeId node, std::uint64_t index, std::uint64_t term, std::string_view data,
               engine::Engine& engine);
  /// A node goes on from a state that it has loaded.
  void loaded(NodeId node, std::uint64_t index, engine::Engine& engine);
  void configured(const log::Configuration& configuration, std::uint64_t index);
  /// A client is told.
  void answered(Op& op, Outcome outcome, std::uint64_t index,
                const std::vector<command::Reply>& replies);
  void shown(const Op& op, std::uint64_t applied);

  /// Everything that takes long.
  void check_all();

  [[nodiscard]] std::uint64_t last() const { return entries_.size(); }
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  [[nodiscard]] const engine::Engine& engine() const { return *engine_; }
  [[nodiscard]] std::uint64_t state_hash() { return engine_->state_hash(); }
  [[nodiscard]] const log::Configuration& configuration() const { return configuration_; }
  [[nodiscard]] const std::vector<command::Event>& events() const { return events_; }

 private:
  struct Known {
    std::uint64_t term = 0;
    std::uint64_t digest = 0;  ///< of the entry
    std::uint64_t state = 0;   ///< hash of the state after it; 0: not taken
  };
  struct Proposed {
    std::vector<Share> shares;
    std::int64_t led_us = 0;
    bool applied = false;
  };
  struct Lease {
    std::int64_t led_us = 0;  ///< when it began, or was last extended
    base::Duration length;
  };

  void apply_first(std::uint64_t index, std::string_view data);
  void settle_shares(std::uint64_t index, Proposed& proposed, const engine::Outcome& outcome);
  void read_leases(const command::Entry& entry, const engine::Outcome& outcome,
                   std::int64_t led_us);
  void read_events(const engine::Outcome& outcome, std::int64_t led_us);
  void check_order(const engine::Outcome& outcome);
  void check_unique();
  void compare_state(NodeId node, std::uint64_t index, engine::Engine& engine, const char* when);

  Counts& counts_;
  std::string violation_;
  sim::Rng rng_;
  sim::Store store_;
  std::unique_ptr<engine::Engine> engine_;
  sim::Ledger ledger_;
  std::vector<Known> entries_;  ///< entry n at n - 1; those that never were are all zero
  std::map<std::uint64_t, Proposed> proposed_;
  std::map<std::uint64_t, NodeId> leaders_;  ///< by term
  std::map<base::JobId, Lease> leases_;
  log::Configuration configuration_;
  std::uint64_t configuration_index_ = 0;
  std::map<std::uint64_t, log::Configuration> configurations_;
  base::Instant stamped_;
  std::uint64_t acknowledged_ = 0;
  std::vector<command::Event> events_;  ///< of the latest entry
};

}  // namespace jobbie::cluster_sim
