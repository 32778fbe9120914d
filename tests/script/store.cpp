// The map store: applying changes and answering for ended jobs.
#include "script/store.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace jobbie::script {
namespace {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};

std::string padded(base::Ulid ulid) {
  const auto text = ulid.text();
  return {text.data(), text.size()};
}

bool is_gone(const command::Item& item) {
  return std::visit(Overloaded{[](const model::TallyRecord& r) { return r.count == 0; },
                               [](const model::WindowRecord& r) { return r.claims.empty(); },
                               [](const model::GroupRecord& r) { return !r.paused; },
                               [](const auto&) { return false; }},
                    item);
}

}  // namespace

std::string key_of(const command::Item& item) {
  return std::visit(
      Overloaded{
          [](const model::MetaRecord&) { return std::string("meta"); },
          [](const model::QueueRecord& r) { return fmt::format("queue {}", r.name.view()); },
          [](const model::TallyRecord& r) {
            return fmt::format("tally {} {} {}", r.queue.view(), model::to_string(r.state),
                               r.minute);
          },
          [](const model::WindowRecord& r) {
            return fmt::format("window {} {} {}", r.queue.view(), r.keyed, r.key.view());
          },
          [](const model::GroupRecord& r) { return fmt::format("group {}", r.name.view()); },
          [](const model::JobRecord& r) { return "job " + padded(r.id.ulid); },
          [](const model::BatchRecord& r) { return "batch " + padded(r.id.ulid); },
          [](const model::ScheduleRecord& r) { return "schedule " + padded(r.id.ulid); },
          [](const model::WorkerRecord& r) { return fmt::format("worker {}", r.spec.id.view()); },
          [](const model::IdempotencyRecord& r) {
            return fmt::format("idempotency {} {}", r.key.view(), padded(r.scope.ulid));
          },
          [](const model::TaskRecord& r) { return fmt::format("task {:020}", r.number); },
          [](const model::BulkRecord& r) { return "bulk " + padded(r.id.ulid); },
          // Of commands that scripts do not have.
          [](const auto& r) { return "other " + padded(r.id.ulid); }},
      item);
}

void MapStore::apply(const command::Changes& changes) {
  for (const auto& change : changes) {
    std::visit(
        Overloaded{
            [&](const command::HeldItem& held) { put(*held); },
            [&](const model::PlainJob& plain) {
              model::JobRecord record;
              model::fill(plain, record);
              put(record);
            },
            [&](const command::RemovedJob& r) { items_.erase("job " + padded(r.job.ulid)); },
            [&](const command::RemovedQueue& r) { remove_queue(r); },
            [&](const command::SweptJobs& r) { sweep(r); },
            [&](const command::RemovedSchedule& r) {
              items_.erase("schedule " + padded(r.schedule.ulid));
            },
            [&](const command::RemovedWorker& r) {
              items_.erase(fmt::format("worker {}", r.worker.view()));
            },
            [&](const command::RemovedIdempotency& r) {
              items_.erase(fmt::format("idempotency {} {}", r.key.view(), padded(r.scope.ulid)));
            },
            [&](const command::RemovedTask& r) {
              items_.erase(fmt::format("task {:020}", r.number));
            },
            [&](const command::RemovedBulk& r) { items_.erase("bulk " + padded(r.bulk.ulid)); },
            // Logs live beside the items, and nobody asks this store for them.
            [](const command::LoggedLines&) {},
            // Of commands that scripts do not have.
            [](const command::RemovedKey&) {}, [](const command::RemovedWebhook&) {},
            [](const command::Audited&) {}},
        change);
  }
}

void MapStore::put(const command::Item& item) {
  if (is_gone(item)) {
    items_.erase(key_of(item));
  } else {
    items_.insert_or_assign(key_of(item), item);
  }
}

void MapStore::sweep(const command::SweptJobs& swept) {
  std::erase_if(items_, [&](const auto& row) {
    const auto* job = std::get_if<model::JobRecord>(&row.second);
    return job != nullptr && job->state == swept.state && job->spec.queue == swept.queue &&
           job->ended_at < swept.before;
  });
}

void MapStore::remove_queue(const command::RemovedQueue& removed) {
  std::erase_if(items_, [&](const auto& row) {
    return std::visit(
        Overloaded{[&](const model::QueueRecord& r) { return r.name == removed.queue; },
                   [&](const model::TallyRecord& r) { return r.queue == removed.queue; },
                   [&](const model::WindowRecord& r) { return r.queue == removed.queue; },
                   [](const auto&) { return false; }},
        row.second);
  });
}

std::optional<model::JobRecord> MapStore::find(base::JobId id) {
  const auto found = items_.find("job " + padded(id.ulid));
  if (found == items_.end()) return std::nullopt;
  const auto& job = std::get<model::JobRecord>(found->second);
  if (!model::has_ended(job.state)) return std::nullopt;
  return job;
}

std::vector<model::JobRecord> MapStore::dead_in_group(std::string_view group, std::uint64_t after,
                                                      std::uint64_t upto, std::size_t limit) {
  std::vector<model::JobRecord> out;
  for (const auto& [key, item] : items_) {
    const auto* job = std::get_if<model::JobRecord>(&item);
    if (job == nullptr || job->state != model::State::dead || job->spec.group.view() != group)
      continue;
    if (job->id.sequence() > after && job->id.sequence() <= upto) out.push_back(*job);
  }
  std::ranges::sort(out, {}, [](const auto& job) { return job.id.sequence(); });
  if (out.size() > limit) out.resize(limit);
  return out;
}

std::optional<model::BatchRecord> MapStore::batch(base::BatchId id) const {
  const auto found = items_.find("batch " + padded(id.ulid));
  if (found == items_.end()) return std::nullopt;
  return std::get<model::BatchRecord>(found->second);
}

/// The window without the claims that time has taken out of it: a checkpoint leaves those away, and
/// no change tells of each millisecond that passes.
model::WindowRecord MapStore::as_of_now(model::WindowRecord window) const {
  const auto queue = items_.find(fmt::format("queue {}", window.queue.view()));
  if (queue == items_.end()) return window;
  const auto& settings = std::get<model::QueueRecord>(queue->second).settings;
  const auto& throttle = window.keyed ? settings.throttle_per : settings.throttle;
  const auto now = std::get<model::MetaRecord>(items_.at("meta")).now;
  std::erase_if(window.claims,
                [&](const auto& c) { return !throttle || c.first <= now - throttle->period; });
  return window;
}

Items MapStore::live() const {
  Items out;
  for (const auto& [key, item] : items_) {
    if (const auto* job = std::get_if<model::JobRecord>(&item); job && model::has_ended(job->state))
      continue;
    if (const auto* batch = std::get_if<model::BatchRecord>(&item);
        batch && batch->finished_at != base::Instant{})
      continue;
    if (const auto* window = std::get_if<model::WindowRecord>(&item)) {
      const command::Item current = as_of_now(*window);
      if (!is_gone(current)) out.emplace(key, current);
      continue;
    }
    out.emplace(key, item);
  }
  return out;
}

std::string first_difference(const Items& written, const Items& dumped) {
  for (const auto& [key, item] : dumped) {
    const auto found = written.find(key);
    if (found == written.end()) return key + " is in the checkpoint and was never handed out";
    if (!(found->second == item)) return key + " differs between the changes and the checkpoint";
  }
  for (const auto& [key, item] : written) {
    if (!dumped.contains(key)) return key + " was handed out and is not in the checkpoint";
  }
  return {};
}

}  // namespace jobbie::script
