// The world a script acts upon: an engine, a store, a clock, and the names of things.
//
// Beside what the script expects, the world checks what must hold in every script: the engine's own
// audit after each entry, events at the log's time, claims that agree with the job, changes that
// add up to the checkpoint, and a reloaded engine with the same hash.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "script/line.hpp"
#include "script/names.hpp"
#include "script/store.hpp"

namespace jobbie::script {

/// What happens behind a script's back after every entry. The trace must not depend on it.
enum class Mode { plain, drained, reloaded };
[[nodiscard]] const char* to_string(Mode mode);

class World {
 public:
  /// `ticks` is where the plain run notes the times at which `until` ticked; the others tick at the
  /// same times, so that all of them apply the same entries.
  World(Mode mode, std::vector<std::vector<base::Instant>>& ticks) : mode_(mode), ticks_(ticks) {}

  /// Runs the lines of one step and gives what they print; after `repeat N` as the first line, what
  /// the last of N times printed.
  [[nodiscard]] std::string run(const std::vector<Line>& lines);

  /// The state's hash after each entry so far.
  [[nodiscard]] const std::vector<std::uint64_t>& hashes() const { return hashes_; }

 private:
  [[nodiscard]] engine::Engine& engine();
  std::string run_once(std::span<const Line> lines);
  bool run_directive(const Line& line, std::string& out);
  void set_options(const Line& line);
  void set_trace(const Line& line);
  std::string run_entry(std::span<const Line> lines);
  std::string run_until(const Line& line);
  std::string run_tick(const Line& line, base::Instant due);
  std::string show(const Line& line);
  std::string show_record(const Line& line, const std::string& what, const std::string& name);
  [[nodiscard]] std::string print_outcome(std::span<const Line> lines, const command::Entry& entry,
                                          const engine::Outcome& outcome);
  void bind_names(const Line& line, const command::Reply& reply);
  void name_the_unnamed(const engine::Outcome& outcome);
  void check_outcome(const Line& line, const command::Entry& entry, const engine::Outcome& outcome);
  void check_claimed(const Line& line, const command::ClaimedJob& claimed);
  void after_entry(const Line& line);
  void drain(const Line& line);
  void reload(const Line& line);
  [[nodiscard]] std::optional<model::JobRecord> find_job(base::JobId id);
  [[nodiscard]] std::optional<model::BatchRecord> find_batch(const Line& line, base::BatchId id);

  Mode mode_;
  std::vector<std::vector<base::Instant>>& ticks_;
  std::size_t untils_ = 0;
  MapStore store_;
  engine::Options options_;
  std::unique_ptr<engine::Engine> engine_;
  Names names_;
  base::Instant now_ = kBase;
  std::uint64_t random_ = 0;
  std::uint32_t work_ = 0;
  bool trace_events_ = true;
  bool trace_ready_ = false;
  std::vector<std::uint64_t> hashes_;
  std::map<std::string, int> runs_of_schedule_;
};

}  // namespace jobbie::script
