// Producers, workers and readers.
#include "tests/cluster_sim/clients.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "tests/cluster_sim/world.hpp"

namespace jobbie::cluster_sim {
namespace {

using base::Blob;

/// Beyond this nobody enqueues: the checks take time in proportion to the state.
constexpr std::size_t kLiveJobs = 60;

Blob some_queue(Rng& rng) { return blob(fmt::format("q{}", rng.below(4))); }

class Producer final : public Client {
 public:
  using Client::Client;

  void begin() override { next(); }

  void answered(Op& op) override {
    const auto it = repeats_.find(op.id);
    if (op.outcome == Outcome::ok) {
      if (const auto* enqueued = std::get_if<command::Enqueued>(&op.replies.front()))
        latest_ = enqueued->job;
      if (it != repeats_.end()) repeats_.erase(it);
      return;
    }
    // Without a key it is not safe to say it again, unless nothing has happened.
    const bool keyed = it != repeats_.end();
    const int left = keyed ? it->second : op.outcome == Outcome::refused ? 1 : 0;
    if (keyed) repeats_.erase(it);
    if (left == 0 || world_.healing()) return;
    world_.after(milliseconds(world_.rng.between(100, 4000)),
                 [this, commands = op.commands, left] { say(commands, left - 1); });
  }

 private:
  void next() {
    const std::int64_t pace = world_.traits.pace;
    world_.after(pace / 3 + world_.rng.between(0, pace * 4 / 3), [this] {
      if (world_.healing()) return;
      if (world_.history.engine().live_jobs() < kLiveJobs) say({request()}, 3);
      next();
    });
  }

  void say(std::vector<command::Command> commands, int repeats) {
    const auto* one = std::get_if<command::Enqueue>(&commands.front());
    const auto* many = std::get_if<command::EnqueueMany>(&commands.front());
    const bool keyed =
        one != nullptr ? !one->idempotency.key.empty() : !many->idempotency.key.empty();
    const auto op = world_.invoke(number_, OpKind::write, std::move(commands));
    if (keyed) repeats_[op->id] = repeats;
  }

  command::Command request() {
    Rng& rng = world_.rng;
    command::Idempotency key;
    if (rng.percent(40)) {
      key.key = blob(fmt::format("key-{}-{}", number_, rng.percent(20) ? made_ : made_ + 1));
      key.fingerprint = 7;
    }
    if (!rng.percent(15)) return command::Enqueue{job(), key};
    command::EnqueueMany many{.idempotency = key};
    const auto count = rng.between(1, 4);
    for (std::int64_t i = 0; i < count; ++i) many.jobs.push_back(job());
    if (rng.percent(70))
      many.batch = command::BatchSpec{rng.percent(80) ? some_queue(rng) : Blob{}, {}};
    return many;
  }

  model::JobSpec job() {
    Rng& rng = world_.rng;
    model::JobSpec spec;
    spec.queue = some_queue(rng);
    spec.payload = blob(fmt::format(R"({{"n":{},"by":{}}})", ++made_, number_));
    if (rng.percent(5)) spec.payload = blob("\"" + std::string(rng.below(4000), 'x') + "\"");
    if (rng.percent(30)) spec.priority = static_cast<std::int32_t>(rng.below(4));
    spec.max_retries = static_cast<std::uint32_t>(1 + rng.below(4));
    spec.retry.backoff = static_cast<model::Backoff>(rng.below(4));
    spec.retry.base = base::milliseconds(rng.between(100, 4000));
    spec.retry.max = base::seconds(5);
    spec.retry.jitter = static_cast<std::uint32_t>(rng.below(1'000'000));
    spec.lease = base::milliseconds(world_.traits.job_lease / 1000);
    if (rng.percent(15))
      spec.scheduled_at =
          world_.history.engine().now() + base::milliseconds(rng.between(1, 15'000));
    else if (rng.percent(15))
      spec.delay = base::milliseconds(rng.between(1, 15'000));
    if (rng.percent(8)) spec.expire_after = base::seconds(rng.between(10, 60));
    if (rng.percent(25)) {
      spec.unique.key = blob(fmt::format("u{}", rng.below(4)));
      spec.unique.until = rng.coin() ? model::UniqueUntil::start : model::UniqueUntil::end;
    }
    if (rng.percent(25)) spec.group = blob(fmt::format("g{}", rng.below(3)));
    if (rng.percent(8) && !latest_.is_nil() && history_knows(latest_)) spec.depends_on = {latest_};
    return spec;
  }

  [[nodiscard]] bool history_knows(base::JobId id) const {
    return world_.history.engine().job(id).has_value();
  }

  std::uint64_t made_ = 0;
  base::JobId latest_;
  std::map<std::uint64_t, int> repeats_;  ///< by call, how often it may be said again
};

class Worker final : public Client {
 public:
  using Client::Client;

  void begin() override { next(); }

  void answered(Op& op) override {
    if (std::holds_alternative<command::Claim>(op.commands.front())) {
      if (op.outcome != Outcome::ok) return;
      const auto* claimed = std::get_if<command::Claimed>(&op.replies.front());
      if (claimed != nullptr)
        for (const auto& job : claimed->jobs) take(job);
      return;
    }
    const bool settles = !std::holds_alternative<command::Heartbeat>(op.commands.front());
    // An ack or a fail that got lost is said again.
    if (op.outcome != Outcome::ok && settles && world_.rng.percent(75))
      world_.after(milliseconds(world_.rng.between(100, 2000)), [this, commands = op.commands] {
        world_.invoke(number_, OpKind::write, commands);
      });
  }

 private:
  struct Held {
    command::LeaseRef ref;
    base::Duration lease;
    bool beats = false;
  };

  void next() {
    const std::int64_t pace = world_.healing() ? milliseconds(400) : world_.traits.pace;
    world_.after(pace / 3 + world_.rng.between(0, pace), [this] {
      if (world_.over()) return;
      claim();
      next();
    });
  }

  void claim() {
    Rng& rng = world_.rng;
    if (!world_.healing() && (held_.size() > 4 || rng.percent(20))) return;
    command::Claim claim;
    claim.worker = blob(fmt::format("w{}.{}", number_, life_));
    claim.count = world_.healing() ? 8 : static_cast<std::uint32_t>(1 + rng.below(2));
    if (world_.healing() || rng.percent(30)) {
      claim.queues.push_back(blob("*"));
    } else {
      claim.queues.push_back(some_queue(rng));
      claim.queues.push_back(some_queue(rng));
    }
    if (rng.percent(20)) claim.lease = base::milliseconds(rng.between(1000, 15'000));
    world_.invoke(number_, OpKind::write, {claim});
  }

  void take(const command::ClaimedJob& job) {
    Rng& rng = world_.rng;
    const std::uint64_t key = job.lease;
    held_[key] = {{job.job, job.lease, blob(fmt::format("w{}.{}", number_, life_))},
                  job.lease_duration,
                  rng.percent(70)};
    const std::int64_t lease_us = job.lease_duration.ms * 1000;
    std::int64_t work = milliseconds(rng.between(1, 500));
    if (!world_.healing() && rng.percent(40)) work = rng.between(1, lease_us * 2);
    if (!world_.healing() && rng.percent(4)) {
      ++life_;  // it dies, and another one comes
      held_.clear();
      return;
    }
    if (held_[key].beats) beat(key, lease_us / 3);
    world_.after(work, [this, key] { finish(key); });
  }

  void beat(std::uint64_t key, std::int64_t every) {
    world_.after(every, [this, key, every] {
      const auto it = held_.find(key);
      if (it == held_.end()) return;
      command::Heartbeat heartbeat;
      heartbeat.worker = it->second.ref.worker;
      heartbeat.beats.push_back({.ref = it->second.ref, .progress = {}, .checkpoint = {}});
      world_.invoke(number_, OpKind::write, {heartbeat});
      beat(key, every);
    });
  }

  void finish(std::uint64_t key) {
    const auto it = held_.find(key);
    if (it == held_.end()) return;
    const Held held = it->second;
    held_.erase(it);
    Rng& rng = world_.rng;
    if (world_.healing() || rng.percent(75)) {
      world_.invoke(number_, OpKind::write,
                    {command::Ack{held.ref, blob(fmt::format("{}", held.ref.lease))}});
      return;
    }
    command::Fail fail{.ref = held.ref, .error = blob("no"), .backtrace = {}};
    fail.no_retry = rng.percent(5);
    if (rng.percent(20)) fail.retry_in = base::milliseconds(rng.between(0, 5000));
    world_.invoke(number_, OpKind::write, {fail});
  }

  std::map<std::uint64_t, Held> held_;  ///< by lease
  std::uint64_t life_ = 0;
};

class Reader final : public Client {
 public:
  using Client::Client;
  void begin() override { next(); }
  void answered(Op& /*op*/) override {}

 private:
  void next() {
    const std::int64_t pace = world_.traits.pace;
    world_.after(pace / 4 + world_.rng.between(0, pace), [this] {
      if (world_.healing()) return;
      world_.invoke(number_, world_.rng.coin() ? OpKind::strong_read : OpKind::local_read, {});
      next();
    });
  }
};

}  // namespace

std::unique_ptr<Client> make_producer(World& world, std::uint32_t number) {
  return std::make_unique<Producer>(world, number);
}
std::unique_ptr<Client> make_worker(World& world, std::uint32_t number) {
  return std::make_unique<Worker>(world, number);
}
std::unique_ptr<Client> make_reader(World& world, std::uint32_t number) {
  return std::make_unique<Reader>(world, number);
}

}  // namespace jobbie::cluster_sim
