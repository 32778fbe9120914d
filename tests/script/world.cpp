// Running the lines of a script: entries, directives and what happens after each entry.
#include "script/world.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/json.hpp"
#include "command/codec.hpp"
#include "script/build.hpp"
#include "script/print.hpp"

namespace jobbie::script {
namespace {

/// Ticks that `until` may need; a script that needs more has found an engine that never rests.
constexpr std::size_t kMostTicks = 10'000;

/// What another replica reads from the log.
command::Entry through_codec(const Line& line, const command::Entry& entry) {
  std::string bytes;
  command::encode(entry, bytes);
  auto decoded = command::decode_entry(bytes);
  if (!decoded) line.fail("the entry does not decode: " + decoded.error().message);
  if (!(*decoded == entry)) line.fail("the entry is another one after the codec");
  return *decoded;
}

command::Item through_codec(const Line& line, const command::Item& item) {
  std::string bytes;
  command::encode(item, bytes);
  auto decoded = command::decode_item(bytes);
  if (!decoded) line.fail("an item does not decode: " + decoded.error().message);
  if (!(*decoded == item)) line.fail(key_of(item) + " is another one after the codec");
  return *decoded;
}

}  // namespace

const char* to_string(Mode mode) {
  switch (mode) {
    case Mode::plain:
      return "as it is";
    case Mode::drained:
      return "with a drain after every entry";
    case Mode::reloaded:
      return "with a reload after every entry";
  }
  return "?";
}

std::string World::run(const std::vector<Line>& lines) {
  if (lines.front().words.front() != "repeat") return run_once(lines);
  const Line& repeat = lines.front();
  const auto times = repeat.to_number(repeat.word(1, "how often"), 1, 1'000'000);
  std::string last;
  for (std::int64_t i = 0; i < times; ++i) last = run_once(std::span(lines).subspan(1));
  return last;
}

std::string World::run_once(std::span<const Line> lines) {
  std::string out;
  for (std::size_t i = 0; i < lines.size();) {
    if (lines[i].joined) lines[i].fail("there is no line before it to join");
    if (run_directive(lines[i], out)) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < lines.size() && lines[end].joined) ++end;
    out += run_entry(lines.subspan(i, end - i));
    i = end;
  }
  return out;
}

engine::Engine& World::engine() {
  if (!engine_) engine_ = std::make_unique<engine::Engine>(store_, options_);
  return *engine_;
}

bool World::run_directive(const Line& line, std::string& out) {
  const auto& verb = line.word(0, "a command");
  if (verb == "at") {
    now_ = names_.instant(line, line.word(1, "the time"), now_);
    line.expect_all_read(2);
  } else if (verb == "random") {
    random_ = static_cast<std::uint64_t>(line.to_number(line.word(1, "the number"), 0, 1ULL << 62));
    line.expect_all_read(2);
  } else if (verb == "work") {
    work_ = static_cast<std::uint32_t>(line.to_number(line.word(1, "the number"), 0, 1ULL << 32));
    line.expect_all_read(2);
  } else if (verb == "options") {
    set_options(line);
  } else if (verb == "trace") {
    set_trace(line);
  } else if (verb == "zone") {
    names_.define_zone(line);
  } else if (verb == "times") {
    const auto& how = line.word(1, "relative or a zone");
    names_.show_times_in(how == "relative" ? std::nullopt : std::optional(how), line);
  } else if (verb == "drain") {
    drain(line);
  } else if (verb == "reload") {
    reload(line);
  } else if (verb == "until") {
    out += run_until(line);
  } else if (verb == "show") {
    out += show(line);
  } else {
    return false;
  }
  return true;
}

void World::set_options(const Line& line) {
  if (engine_) line.fail("options stand before the first command");
  options_.timers_per_tick = line.number_of<std::size_t>("timers", options_.timers_per_tick);
  options_.task_slice = line.number_of<std::size_t>("slice", options_.task_slice);
  options_.cron_runs_per_tick =
      line.number_of<std::size_t>("cron_runs", options_.cron_runs_per_tick);
  options_.sweeps_per_tick = line.number_of<std::size_t>("sweeps", options_.sweeps_per_tick);
  line.expect_all_read(1);
}

void World::set_trace(const Line& line) {
  const auto& what = line.word(1, "events, ready or off");
  if (what != "events" && what != "ready" && what != "off") line.fail("trace events, ready or off");
  trace_events_ = what != "off";
  trace_ready_ = what == "ready";
  line.expect_all_read(2);
}

std::string World::run_entry(std::span<const Line> lines) {
  command::Entry entry{.now = now_, .random = random_, .commands = {}, .work = work_};
  for (const auto& line : lines) entry.commands.push_back(build_command(line, names_, now_));
  if (mode_ == Mode::reloaded) entry = through_codec(lines.front(), entry);
  const auto outcome = engine().apply(entry);
  if (outcome.replies.size() != lines.size())
    lines.front().fail(
        fmt::format("{} commands got {} replies", lines.size(), outcome.replies.size()));
  for (std::size_t i = 0; i < lines.size(); ++i) bind_names(lines[i], outcome.replies[i]);
  name_the_unnamed(outcome);
  const auto out = print_outcome(lines, entry, outcome);
  check_outcome(lines.front(), entry, outcome);
  after_entry(lines.front());
  return out;
}

/// Ticks whenever the engine asks for one, as a node would, up to and including the given time.
std::string World::run_until(const Line& line) {
  const auto target = names_.instant(line, line.word(1, "the time"), now_);
  line.expect_all_read(2);
  std::string out;
  if (mode_ == Mode::plain) {
    auto& times = ticks_.emplace_back();
    for (auto due = now_; times.size() < kMostTicks; times.push_back(due)) {
      due = std::max(now_, engine().next_deadline());
      if (due > target) break;
      out += run_tick(line, due);
    }
    if (times.size() == kMostTicks) line.fail("the engine asks for ticks without end");
  } else {
    for (const auto due : ticks_.at(untils_++)) out += run_tick(line, due);
  }
  now_ = target;
  return out;
}

/// An engine may ask too early for a tick, but never later than something happens.
std::string World::run_tick(const Line& line, base::Instant due) {
  const Line tick(line.number, "tick");
  const auto asked = engine().next_deadline();
  now_ = due;
  const auto trace = run_entry(std::span(&tick, 1));
  const auto events = trace.substr(trace.find('\n') + 1);  // a tick's own reply says nothing
  if (events.empty()) return {};
  if (asked > due) line.fail("something happened in a tick that the engine had not asked for");
  return fmt::format("at {}\n{}", names_.show(now_), events);
}

std::string World::print_outcome(std::span<const Line> lines, const command::Entry& entry,
                                 const engine::Outcome& outcome) {
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i)
    out += print(outcome.replies[i], entry.commands[i], names_);
  if (trace_events_) {
    for (const auto& event : outcome.events) out += print(event, names_);
  }
  if (trace_ready_ && !outcome.ready.empty()) {
    std::vector<std::string> queues;
    for (const auto& queue : outcome.ready) queues.emplace_back(queue.view());
    std::ranges::sort(queues);
    out += fmt::format("  ready: {}\n", fmt::join(queues, ", "));
  }
  return out;
}

void World::bind_names(const Line& line, const command::Reply& reply) {
  const auto& verb = line.words.front();
  if (const auto* one = std::get_if<command::Enqueued>(&reply); one && verb == "enqueue")
    names_.bind(line.words[1], one->job);
  if (const auto* many = std::get_if<command::EnqueuedMany>(&reply)) {
    if (line.has("batch")) names_.bind(line.text("batch"), many->batch);
    for (std::size_t i = 0; i < std::min(many->jobs.size(), line.children.size()); ++i)
      names_.bind(line.children[i].word(0, "the job's name"), many->jobs[i].job);
  }
  if (const auto* schedule = std::get_if<command::ScheduleReply>(&reply);
      schedule && line.word(1, "what") == "create")
    names_.bind(line.words[2], schedule->schedule.id);
}

/// Jobs that nobody enqueued by hand: `s.1`, `s.2` are the runs of schedule s, `b.callback` is the
/// callback of batch b.
void World::name_the_unnamed(const engine::Outcome& outcome) {
  for (const auto& event : outcome.events) {
    if (event.type != command::EventType::enqueued || names_.knows(event.job)) continue;
    const auto job = find_job(event.job);
    if (!job) continue;
    if (!job->schedule.is_nil()) {
      const auto schedule = names_.of(job->schedule);
      names_.bind(fmt::format("{}.{}", schedule, ++runs_of_schedule_[schedule]), job->id);
      continue;
    }
    const auto batch = base::json::member(job->spec.payload.view(), "batch");
    const auto id = batch ? base::json::member(*batch, "id") : std::nullopt;
    if (!id || id->size() < 2) continue;
    if (const auto parsed = base::BatchId::parse(id->substr(1, id->size() - 2)))
      names_.bind(names_.of(*parsed) + ".callback", job->id);
  }
}

void World::after_entry(const Line& line) {
  hashes_.push_back(engine().state_hash());
  if (mode_ == Mode::drained) drain(line);
  if (mode_ == Mode::reloaded) reload(line);
  if (engine().state_hash() != hashes_.back()) line.fail("the state's hash has changed by itself");
}

void World::drain(const Line& line) {
  store_.apply(engine().drain_changes());
  Items dumped;
  engine().dump([&](const command::Item& item) {
    if (!dumped.emplace(key_of(item), item).second)
      line.fail("the checkpoint holds twice: " + key_of(item));
  });
  const auto difference = first_difference(store_.live(), dumped);
  if (!difference.empty()) line.fail(difference);
}

/// Carries the state through a checkpoint into a new engine. Items go in backwards: the loader
/// takes them in any order.
void World::reload(const Line& line) {
  drain(line);
  std::vector<command::Item> items;
  engine().dump([&](const command::Item& item) { items.push_back(item); });
  engine::Loader loader(store_, options_);
  for (auto item = items.rbegin(); item != items.rend(); ++item) {
    if (const auto added = loader.add(through_codec(line, *item)); !added)
      line.fail("the loader refused an item: " + added.error().message);
  }
  auto loaded = loader.finish();
  if (!loaded) line.fail("the checkpoint does not load: " + loaded.error().message);
  if (loaded->state_hash() != engine().state_hash()) line.fail("a reload changes the state's hash");
  engine_ = std::make_unique<engine::Engine>(std::move(*loaded));
  if (const auto fault = engine().audit(); !fault.empty())
    line.fail("audit after reload: " + fault);
}

std::optional<model::JobRecord> World::find_job(base::JobId id) {
  if (auto job = engine().job(id)) return job;
  return store_.find(id);
}

/// Finished batches leave the engine: the store has them, once it was told.
std::optional<model::BatchRecord> World::find_batch(const Line& line, base::BatchId id) {
  if (auto batch = engine().batch(id)) return batch;
  if (auto batch = store_.batch(id)) return batch;
  drain(line);
  return store_.batch(id);
}

}  // namespace jobbie::script
