// The manager: settings, schedules and actions on single jobs; order again at the end.
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/cluster_sim/clients.hpp"
#include "tests/cluster_sim/world.hpp"

namespace jobbie::cluster_sim {
namespace {

using base::Blob;

class Manager final : public Client {
 public:
  using Client::Client;

  void begin() override {
    std::vector<command::Command> opening;
    for (int i = 0; i < 4; ++i) {
      const auto keep = base::seconds(world_.rng.between(0, 90));
      opening.emplace_back(command::SetRetention{blob(fmt::format("q{}", i)), keep, keep, keep});
      opening.emplace_back(
          command::SetLease{blob(fmt::format("q{}", i)), base::seconds(world_.rng.between(3, 15))});
    }
    say(std::move(opening));
    next();
  }

  void answered(Op& op) override {
    busy_ = false;
    // The opening has to arrive; whatever else gets lost is lost.
    const bool first = std::holds_alternative<command::SetRetention>(op.commands.front());
    if (op.outcome != Outcome::ok && first && !world_.healing()) say(op.commands);
  }

 private:
  void next() {
    const std::int64_t pace = world_.healing() ? seconds(1) : world_.traits.pace * 4;
    world_.after(pace / 2 + world_.rng.between(0, pace), [this] {
      if (world_.over()) return;
      if (!busy_) {
        if (world_.healing())
          tidy_up();
        else
          meddle();
      }
      next();
    });
  }

  void say(std::vector<command::Command> commands) {
    busy_ = true;
    world_.invoke(number_, OpKind::write, std::move(commands));
  }

  Blob some_queue() { return blob(fmt::format("q{}", world_.rng.below(4))); }

  base::JobId some_job() {
    std::vector<base::JobId> jobs;
    world_.history.engine().dump([&](const command::Item& item) {
      if (const auto* job = std::get_if<model::JobRecord>(&item)) jobs.push_back(job->id);
    });
    for (const auto& event : world_.history.events())
      if (!event.job.is_nil()) jobs.push_back(event.job);
    return jobs.empty() ? base::JobId{} : jobs[world_.rng.below(jobs.size())];
  }

  void meddle() {
    Rng& rng = world_.rng;
    const Blob queue = some_queue();
    switch (rng.below(12)) {
      case 0:
        return say({command::QueueCommand{queue, command::QueueAction::pause}});
      case 1:
      case 2:
        return say({command::QueueCommand{queue, command::QueueAction::resume}});
      case 3: {
        const auto max = rng.coin() ? std::optional<std::uint32_t>(1 + rng.below(3)) : std::nullopt;
        return say({command::SetConcurrency{queue, max, rng.coin() ? blob("group") : Blob{}}});
      }
      case 4: {
        const auto rate =
            rng.coin() ? std::optional<std::uint32_t>(1 + rng.below(5)) : std::nullopt;
        return say({command::SetThrottle{queue, rate, base::seconds(rng.between(1, 10)), {}}});
      }
      case 5:
        return say({schedule()});
      case 6:
        return say({command::GroupCommand{blob(fmt::format("g{}", rng.below(3))),
                                          static_cast<command::GroupAction>(rng.below(4)), true}});
      case 7:
        return say({command::Cancel{some_job()}});
      case 8:
        return say({command::Retry{some_job(), {}}});
      case 9:
        return say({command::Move{some_job(), queue, rng.coin(), rng.coin()}});
      case 10:
        return say({command::Delete{some_job()}});
      default:
        if (rng.percent(30))
          return say({command::QueueCommand{queue, command::QueueAction::clear}});
        return say({command::SetPriority{some_job(), static_cast<std::int32_t>(rng.below(4))}});
    }
  }

  command::Command schedule() {
    const auto all = world_.history.engine().schedules();
    Rng& rng = world_.rng;
    if (all.size() > 2 || (!all.empty() && rng.coin()))
      return command::ScheduleCommand{all[rng.below(all.size())].id,
                                      static_cast<command::ScheduleAction>(rng.below(4))};
    model::ScheduleSpec spec;
    spec.name = blob(fmt::format("s{}", rng.below(3)));
    spec.cron = blob("* * * * *");
    spec.catch_up = static_cast<model::CatchUp>(rng.below(3));
    spec.job.queue = some_queue();
    spec.job.payload = blob("{}");
    spec.job.lease = base::seconds(5);
    return command::CreateSchedule{spec};
  }

  /// Whatever holds jobs back goes.
  void tidy_up() {
    std::vector<command::Command> orders;
    for (const auto& schedule : world_.history.engine().schedules())
      orders.emplace_back(command::ScheduleCommand{schedule.id, command::ScheduleAction::remove});
    for (const auto& view : world_.history.engine().queues()) {
      const auto& [name, settings] = std::pair(view.record.name, view.record.settings);
      if (settings.paused)
        orders.emplace_back(command::QueueCommand{name, command::QueueAction::resume});
      if (settings.concurrency)
        orders.emplace_back(command::SetConcurrency{name, std::nullopt, {}});
      if (settings.concurrency_per)
        orders.emplace_back(command::SetConcurrency{name, std::nullopt, blob("group")});
      if (settings.throttle) orders.emplace_back(command::SetThrottle{name, std::nullopt, {}, {}});
    }
    for (const auto& group : world_.history.engine().groups())
      if (group.paused)
        orders.emplace_back(command::GroupCommand{group.name, command::GroupAction::resume, true});
    if (!orders.empty()) say(std::move(orders));
  }

  bool busy_ = false;
};

}  // namespace

std::unique_ptr<Client> make_manager(World& world, std::uint32_t number) {
  return std::make_unique<Manager>(world, number);
}

}  // namespace jobbie::cluster_sim
