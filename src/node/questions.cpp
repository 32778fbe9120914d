// One overload for each question. What has ended is mostly in the database alone.
#include "node/questions.hpp"

#include <algorithm>
#include <utility>

namespace jobbie::node {
namespace {

template <typename Record>
call::Page<Record> page_of(std::vector<Record> rows, std::size_t limit, base::Instant now) {
  call::Page<Record> page{.rows = std::move(rows), .more = false, .now = now};
  if (page.rows.size() > limit) {
    page.rows.resize(limit);
    page.more = true;
  }
  return page;
}

template <typename Record>
call::Page<Record> page_of(std::optional<Record> row, base::Instant now) {
  call::Page<Record> page{.rows = {}, .more = false, .now = now};
  if (row) page.rows.push_back(*std::move(row));
  return page;
}

class Answering {
 public:
  Answering(const engine::Engine& engine, const stats::Stats& stats, base::Instant now,
            call::Call& call)
      : engine_(engine), stats_(stats), now_(now), grant_(call.grant.get()), out_(call.answer) {}

  bool operator()(const call::JobQuery& query) {
    auto found = engine_.job(query.job);
    const bool known = found || engine_.is_removed(query.job);
    if (known) out_ = std::move(found);
    return known;
  }

  bool operator()(const call::BatchQuery& query) {
    auto found = engine_.batch(query.batch);
    const bool known = found.has_value();
    if (known) out_ = std::move(found);
    return known;
  }

  bool operator()(const call::QueuesQuery& query) {
    if (!query.only.empty()) answer_queues(page_of(engine_.queue(query.only), now_));
    return !query.only.empty();
  }

  bool operator()(const call::WorkersQuery& query) {
    if (query.only.empty()) return false;
    auto worker = engine_.worker(query.only);
    if (worker && !may_see(worker->spec.queues)) worker.reset();
    out_ = page_of(std::move(worker), now_);
    return true;
  }

  void answer_scan(engine::NameScan scan) {
    const auto limit = scan.page.limit - 1;
    if (scan.list == engine::NameScan::List::queues)
      answer_queues(page_of(engine_.queues(std::move(scan)), limit, now_));
    else if (scan.list == engine::NameScan::List::groups)
      out_ = page_of(engine_.groups(std::move(scan)), limit, now_);
    else
      out_ = page_of(engine_.workers(std::move(scan)), limit, now_);
  }

  bool operator()(const call::SchedulesQuery& query) {
    if (!query.only.is_nil())
      out_ = page_of(engine_.schedule(query.only), now_);
    else
      out_ = page_of(engine_.schedules(query.after, query.limit + 1), query.limit, now_);
    return true;
  }

  bool operator()(const call::WhyQuery& query) {
    auto why = engine_.why(query.job);
    if (!why.found) {
      if (engine_.is_removed(query.job)) out_ = call::Why{};
      return engine_.is_removed(query.job);
    }
    call::Why answer{
        .found = true, .state = why.state, .reasons = {}, .queue = std::move(why.queue)};
    for (auto& reason : why.reasons)
      answer.reasons.push_back({.code = engine::to_string(reason.code),
                                .detail = std::move(reason.detail),
                                .until = reason.until,
                                .jobs = std::move(reason.jobs),
                                .ahead = reason.ahead,
                                .ahead_is_at_least = reason.ahead_is_at_least});
    out_ = std::move(answer);
    return true;
  }

  bool operator()(const call::WebhooksQuery& query) {
    if (!query.only.is_nil())
      out_ = page_of(engine_.webhook(query.only), now_);
    else
      out_ = call::WebhookPage{.rows = engine_.webhooks(), .more = false, .now = now_};
    return true;
  }

  bool operator()(const call::KeysQuery& /*query*/) {
    out_ = call::KeyPage{.rows = engine_.keys(), .more = false, .now = now_};
    return true;
  }

  // The node answers the others itself.
  template <typename Other>
  bool operator()(const Other& /*query*/) {
    return false;
  }

 private:
  void answer_queues(const call::Page<model::QueueView>& page) {
    call::QueuePage out{.rows = {}, .more = page.more, .now = page.now};
    for (const auto& view : page.rows)
      out.rows.push_back({view, stats_.rates(view.record.name.view(), page.now)});
    out_ = std::move(out);
  }

  /// A worker that listens on these.
  [[nodiscard]] bool may_see(const std::vector<base::Blob>& queues) const {
    return grant_ == nullptr || queues.empty() ||
           std::any_of(queues.begin(), queues.end(),
                       [this](const base::Blob& queue) { return grant_->meets(queue.view()); });
  }

  const engine::Engine& engine_;
  const stats::Stats& stats_;
  const base::Instant now_;
  const call::Grant* grant_;
  call::Answer& out_;
};

}  // namespace

std::optional<engine::NameScan> scan_for(const call::Call& call) {
  const auto* grant = call.grant.get();
  // One row more than asked for tells whether there are more.
  const auto scan = [&](engine::NameScan::List list, const call::NamePage& page) {
    return engine::NameScan{
        .list = list,
        .page = {.after = page.after,
                 .prefix = page.prefix,
                 .glob = page.glob,
                 .limit = page.limit + 1,
                 .among = grant == nullptr || grant->all_queues ? nullptr : &grant->queues}};
  };
  if (const auto* query = std::get_if<call::QueuesQuery>(&call.query);
      query != nullptr && query->only.empty())
    return scan(engine::NameScan::List::queues, query->page);
  if (const auto* query = std::get_if<call::GroupsQuery>(&call.query))
    return scan(engine::NameScan::List::groups, query->page);
  if (const auto* query = std::get_if<call::WorkersQuery>(&call.query);
      query != nullptr && query->only.empty())
    return scan(engine::NameScan::List::workers, query->page);
  return std::nullopt;
}

void answer_scan(const engine::Engine& engine, const stats::Stats& stats, base::Instant now,
                 engine::NameScan scan, call::Call& call) {
  Answering(engine, stats, now, call).answer_scan(std::move(scan));
}

bool answer_from_engine(const engine::Engine& engine, const stats::Stats& stats, base::Instant now,
                        call::Call& call) {
  return std::visit(Answering(engine, stats, now, call), call.query);
}

}  // namespace jobbie::node
