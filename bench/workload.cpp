// Jobs, claims and settings of each variant.
#include "bench/workload.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "bench/clock.hpp"

namespace jobbie::bench {
namespace {

constexpr base::Instant kStart{1'767'225'600'000};  // 2026-01-01
constexpr std::uint32_t kFarAway = 1'000'000;       // a limit that is never reached
constexpr std::size_t kJobsPerRequest = 1000;
constexpr std::uint64_t kJobsPerMillisecond = 1000;

template <typename... Commands>
void apply_all(engine::Engine& engine, const Workload& workload, Commands... commands) {
  auto entry = workload.entry(sizeof...(commands));
  (entry.commands.emplace_back(std::move(commands)), ...);
  const auto outcome = engine.apply(entry);
  for (const auto& reply : outcome.replies)
    JOBBIE_CHECK(!std::holds_alternative<command::Refusal>(reply));
}

}  // namespace

const char* to_string(Variant variant) {
  switch (variant) {
    case Variant::plain:
      return "plain";
    case Variant::unique:
      return "unique";
    case Variant::limits:
      return "limits";
    case Variant::keyed:
      return "keyed";
    case Variant::fairness:
      return "fairness";
  }
  return "?";
}

Workload::Workload(Variant variant, std::size_t queues) : variant_(variant) {
  for (std::size_t i = 0; i < queues; ++i) queues_.emplace_back(fmt::format("queue-{}", i));
  for (std::size_t i = 0; i < kWorkers; ++i) workers_.emplace_back(fmt::format("worker-{}", i));
  for (std::size_t i = 0; i < kTenants; ++i) {
    tags_.emplace_back(fmt::format(R"({{"tenant":"t{}"}})", i));
    groups_.emplace_back(fmt::format("group-{}", i));
  }
  filler_.assign(kPayloadBytes, 'x');
}

base::Instant Workload::now() const {
  return kStart + base::milliseconds(static_cast<std::int64_t>(made_ / kJobsPerMillisecond));
}

command::Entry Workload::entry(std::size_t commands) const {
  command::Entry out{.now = now(), .random = base::mix64(made_ + 1), .commands = {}};
  out.commands.reserve(commands);
  return out;
}

model::JobSpec Workload::next_job() {
  const auto number = made_++;
  std::string payload = fmt::format(R"({{"n":{:012},"text":")", number);
  payload.append(filler_, 0, kPayloadBytes - payload.size() - 2);
  payload += "\"}";
  model::JobSpec job;
  job.queue = queues_[number % queues_.size()];
  job.payload = base::Blob(payload);
  const auto which = (number / queues_.size()) % kTenants;
  if (variant_ == Variant::unique) job.unique.key = base::Blob(fmt::format("user-{}", number));
  if (variant_ == Variant::keyed) job.tags = tags_[which];
  if (variant_ == Variant::fairness) job.group = groups_[which];
  return job;
}

command::Claim Workload::next_claim() {
  const auto number = claims_++;
  command::Claim out;
  out.queues = {queues_[number % queues_.size()]};
  out.worker = workers_[number % workers_.size()];
  return out;
}

command::Claim Workload::claim_any() {
  auto out = next_claim();
  out.queues = {base::Blob("queue-*")};
  return out;
}

void Workload::set_up(engine::Engine& engine) const {
  for (const auto& queue : queues_) {
    if (variant_ == Variant::fairness)
      apply_all(engine, *this,
                command::SetFairness{.queue = queue, .fairness = model::Fairness::group});
    if (variant_ == Variant::limits || variant_ == Variant::keyed)
      apply_all(
          engine, *this, command::SetConcurrency{.queue = queue, .max = kFarAway, .per = {}},
          command::SetThrottle{
              .queue = queue, .rate = kFarAway, .period = base::milliseconds(100), .per = {}});
    if (variant_ == Variant::keyed)
      apply_all(engine, *this,
                command::SetConcurrency{
                    .queue = queue, .max = kFarAway, .per = base::Blob("tags.tenant")});
  }
}

double Workload::fill(engine::Engine& engine, std::size_t jobs) {
  double seconds = 0;
  for (std::size_t done = 0; done < jobs;) {
    command::EnqueueMany many;
    const auto count = std::min(kJobsPerRequest, jobs - done);
    many.jobs.reserve(count);
    for (std::size_t i = 0; i < count; ++i) many.jobs.push_back(next_job());
    auto request = entry(1);
    request.commands.emplace_back(std::move(many));
    const auto begin = Clock::now();
    const auto outcome = engine.apply(request);
    const auto changes = engine.drain_changes();
    seconds += seconds_since(begin);
    JOBBIE_CHECK(std::holds_alternative<command::EnqueuedMany>(outcome.replies.front()));
    done += count;
  }
  return seconds;
}

}  // namespace jobbie::bench
