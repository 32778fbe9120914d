// Runs a seed.
#include "tests/sim/simulation.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "command/checkpoint_codec.hpp"
#include "engine/engine.hpp"
#include "tests/sim/auditor.hpp"
#include "tests/sim/compare.hpp"
#include "tests/sim/describe.hpp"
#include "tests/sim/model.hpp"
#include "tests/sim/store.hpp"
#include "tests/sim/workload.hpp"

namespace jobbie::sim {
namespace {

/// Rounds of honest work after which every job must have ended (I10).
constexpr int kRecoveryRounds = 4000;
constexpr std::uint32_t kFullCheckPermille = 15;

/// A second engine with its own store.
struct Twin {
  Store store;
  std::unique_ptr<engine::Engine> engine;
  std::uint64_t entries_left = 0;
};

class Simulation {
 public:
  Simulation(std::uint64_t seed, const SimOptions& options, Coverage& coverage)
      : options_(options),
        coverage_(coverage),
        rng_(seed),
        personality_(drawn()),
        model_(personality_.options),
        workload_(rng_, personality_, model_),
        auditor_(model_, store_, coverage, options.history_only),
        engine_(std::make_unique<engine::Engine>(store_, personality_.options)) {}

  SimResult run() {
    run_workload();
    if (result_.violation.empty()) recover();
    if (result_.violation.empty()) finish();
    coverage_.add(model_.reached());
    return result_;
  }

 private:
  Personality drawn() {
    Personality personality = draw_personality(rng_);
#ifdef JOBBIE_PLANT_BUGS
    personality.options.plant = options_.plant;
#endif
    return personality;
  }

  /// False once something is wrong.
  bool hold(std::string violation) {
    if (result_.violation.empty()) result_.violation = std::move(violation);
    return result_.violation.empty();
  }

  void run_workload() {
    if (!step(workload_.opening())) return;
    while (result_.commands < options_.commands) {
      if (!step(workload_.next(engine_->next_deadline()))) return;
      if (!interlude()) return;
    }
  }

  bool step(const Entry& entry);
  bool interlude();
  bool start_twin();
  bool reload();
  bool follow_with_twin(const Entry& entry, const engine::Outcome& outcome);
  void recover();
  void finish();
  [[nodiscard]] std::string difference(const engine::Engine& other) const;
  void drain() { store_.apply(engine_->drain_changes()); }
  std::unique_ptr<engine::Engine> load_copy(Store& store, bool through_bytes);
  void print(const Entry& entry, const engine::Outcome& outcome) const;

  SimOptions options_;
  Coverage& coverage_;
  Rng rng_;
  Personality personality_;
  Model model_;
  Store store_;
  Workload workload_;
  Auditor auditor_;
  std::unique_ptr<engine::Engine> engine_;
  Twin twin_;
  SimResult result_;
};

bool Simulation::step(const Entry& entry) {
  ++result_.entry;
  result_.commands += std::max<std::size_t>(entry.commands.size(), 1);
  auditor_.before(entry, *engine_);
  const std::vector<Reply> expected = model_.apply(entry);
  const engine::Outcome outcome = engine_->apply(entry);
  if (options_.trace) print(entry, outcome);
  for (std::size_t i = 0; i < expected.size(); ++i) coverage_.count(entry.commands[i], expected[i]);
  workload_.learn(entry, expected);
  if (!hold(auditor_.after(entry, expected, outcome, *engine_))) return false;
  if (options_.paranoid && !hold(auditor_.full(*engine_, false))) return false;
  return follow_with_twin(entry, outcome);
}

/// What happens between entries: drains, full checks, reloads, twins.
bool Simulation::interlude() {
  const bool drained = rng_.percent(personality_.drain);
  if (drained) drain();
  if (rng_.permille(kFullCheckPermille) && !hold(auditor_.full(*engine_, drained))) return false;
  if (rng_.permille(personality_.reload) && !reload()) return false;
  if (rng_.permille(personality_.twin) && !start_twin()) return false;
  return true;
}

std::unique_ptr<engine::Engine> Simulation::load_copy(Store& store, bool through_bytes) {
  engine::Options options = personality_.options;
  options.hash_seed = rng_.next();  // of no consequence, or the copy would not follow
  engine::Loader loader(store, options);
  base::Result<void> added;
  const auto add = [&](command::Item item) -> base::Result<void> {
    if (added) added = loader.add(std::move(item));
    return added;
  };
  if (through_bytes) {
    std::string bytes;
    command::CheckpointWriter writer([&](std::string_view piece) { bytes += piece; });
    engine_->dump([&](const command::Item& item) { writer.add(item); });
    writer.finish();
    store.forget_lapsed_windows(engine_->now());  // a store made of these bytes has none
    command::CheckpointReader reader(add);
    const auto fed = reader.feed(bytes);
    const auto read = fed ? reader.finish() : fed;
    if (!read) {
      hold("checkpoint does not read back: " + read.error().message);
      return nullptr;
    }
  } else {
    std::vector<command::Item> items;
    engine_->dump([&](const command::Item& item) {
      if (!std::holds_alternative<model::WindowRecord>(item)) items.push_back(item);
    });
    for (const auto& [key, window] : store.windows()) items.emplace_back(window);
    for (std::size_t i = items.size(); i > 1; --i)  // items may come in any order
      std::swap(items[i - 1], items[static_cast<std::size_t>(rng_.below(i))]);
    for (auto& item : items) {
      if (!add(std::move(item))) break;
    }
  }
  if (!added) {
    hold("loading a dump failed: " + added.error().message);
    return nullptr;
  }
  auto loaded = loader.finish();
  if (!loaded) {
    hold("loading a dump failed: " + loaded.error().message);
    return nullptr;
  }
  auto copy = std::make_unique<engine::Engine>(std::move(*loaded));
  if (copy->state_hash() != engine_->state_hash())
    hold("state hash differs after a reload (I19): " + difference(*copy));
  return copy;
}

/// What the dumps of the engine and of another one have different.
std::string Simulation::difference(const engine::Engine& other) const {
  Store dumped;
  engine_->dump([&](const command::Item& item) { dumped.put(item); });
  const std::string text = dumped.difference(other);
  return text.empty() ? "though their dumps are equal" : text;
}

/// Goes on with an engine loaded from a dump of this one.
bool Simulation::reload() {
  drain();
  if (!hold(store_.difference(*engine_))) return false;
  auto copy = load_copy(store_, rng_.coin());
  if (!result_.violation.empty()) return false;
  engine_ = std::move(copy);
  ++coverage_.reloads;
  if (rng_.percent(20)) return hold(auditor_.full(*engine_, true));
  return true;
}

bool Simulation::start_twin() {
  if (twin_.engine != nullptr) return true;
  drain();
  twin_.store = store_;
  twin_.engine = load_copy(twin_.store, rng_.coin());
  twin_.entries_left = rng_.below(60) + 5;
  return result_.violation.empty();
}

/// I4: the same entries give the same state, whenever each of the two was drained.
bool Simulation::follow_with_twin(const Entry& entry, const engine::Outcome& outcome) {
  if (twin_.engine == nullptr) return true;
  const engine::Outcome other = twin_.engine->apply(entry);
  if (other.replies != outcome.replies) return hold("a twin gives other replies (I4)");
  if (other.events != outcome.events) return hold("a twin tells other events (I4)");
  if (twin_.engine->state_hash() != engine_->state_hash())
    return hold("a twin has another state hash (I4): " + difference(*twin_.engine));
  ++coverage_.twins;
  if (rng_.percent(30)) twin_.store.apply(twin_.engine->drain_changes());
  if (--twin_.entries_left == 0) twin_ = {};
  return true;
}

/// I10: without brakes and with honest workers every job ends.
void Simulation::recover() {
  if (!step(workload_.recover())) return;
  for (int round = 0; round < kRecoveryRounds; ++round) {
    if (model_.live().empty() && model_.tasks().empty()) return;
    const Instant due = model_.next_deadline();
    const bool wait = round % 2 == 1 && due != base::kNever;
    if (!step(workload_.honest_round(wait ? due : model_.now() + base::milliseconds(1)))) return;
    if (rng_.percent(personality_.drain)) drain();
  }
  if (options_.history_only) return;  // it is the model's jobs that have not ended
  hold(fmt::format(
      "{} jobs have not ended after {} rounds of honest work, now {}, tick asked for {}: "
      "{} (I10)",
      model_.live().size(), kRecoveryRounds, model_.now().ms, engine_->next_deadline().ms,
      model_.live().empty() ? "" : show(model_.live().begin()->second)));
}

void Simulation::finish() {
  // Whatever the engine still asks ticks for must come to an end too.
  for (int i = 0; i < kRecoveryRounds && engine_->next_deadline() <= model_.now(); ++i) {
    if (!step({.now = model_.now(), .random = rng_.next(), .commands = {command::Tick{}}})) return;
  }
  drain();
  if (!hold(auditor_.full(*engine_, true))) return;
  reload();
}

void Simulation::print(const Entry& entry, const engine::Outcome& outcome) const {
  fmt::print("entry {} at {} (log time {})\n", result_.entry, entry.now.ms, model_.now().ms);
  for (std::size_t i = 0; i < entry.commands.size(); ++i) {
    fmt::print("  {}\n", show(entry.commands[i]));
    if (i < outcome.replies.size()) fmt::print("    -> {}\n", show(outcome.replies[i]));
  }
  for (const auto& event : outcome.events)
    fmt::print("    * {} {} '{}' {} '{}'\n", command::to_string(event.type), show(event.job),
               event.queue.view(), event.attempt, event.detail.view());
}

}  // namespace

SimResult simulate(std::uint64_t seed, const SimOptions& options, Coverage& coverage) {
  return std::make_unique<Simulation>(seed, options, coverage)->run();
}

}  // namespace jobbie::sim
