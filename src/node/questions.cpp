// One overload for each question. What has ended is mostly in the database alone.
#include "node/questions.hpp"

#include <algorithm>
#include <utility>

namespace jobbie::node {
namespace {

/// One row more than asked for tells whether there are more.
engine::NamePage widened(const call::NamePage& page, const call::Grant* grant = nullptr) {
  return {.after = page.after,
          .prefix = page.prefix,
          .glob = page.glob,
          .limit = page.limit + 1,
          .among = grant == nullptr || grant->all_queues ? nullptr : &grant->queues};
}

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
    const auto page = query.only.empty() ? page_of(engine_.queues(widened(query.page, grant_)),
                                                   query.page.limit, now_)
                                         : page_of(engine_.queue(query.only), now_);
    call::QueuePage out{.rows = {}, .more = page.more, .now = page.now};
    for (const auto& view : page.rows)
      out.rows.push_back({view, stats_.rates(view.record.name.view(), page.now)});
    out_ = std::move(out);
    return true;
  }

  bool operator()(const call::GroupsQuery& query) {
    out_ = page_of(engine_.groups(widened(query.page)), query.page.limit, now_);
    return true;
  }

  bool operator()(const call::WorkersQuery& query) {
    if (query.only.empty()) {
      out_ = page_of(engine_.workers(widened(query.page, grant_)), query.page.limit, now_);
      return true;
    }
    auto worker = engine_.worker(query.only);
    if (worker && !may_see(worker->spec.queues)) worker.reset();
    out_ = page_of(std::move(worker), now_);
    return true;
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

bool answer_from_engine(const engine::Engine& engine, const stats::Stats& stats, base::Instant now,
                        call::Call& call) {
  return std::visit(Answering(engine, stats, now, call), call.query);
}

}  // namespace jobbie::node
