// One thread, one question at a time.
#include "node/bulk_runner.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "model/limits.hpp"
#include "node/deliver.hpp"
#include "search/filter.hpp"

namespace jobbie::node {
namespace {

/// After trouble that may pass.
constexpr std::chrono::milliseconds kRest{200};
/// Payload, checkpoint and errors of a job that is large.
constexpr std::uint64_t kLargeJob = std::uint64_t{2} << 20;

/// What the runner itself asks of the node.
class Errand final : public call::Call {
 public:
  using Call::Call;
  void finish() override {}
};

std::vector<model::State> states_for(model::BulkAction action) {
  using model::State;
  switch (action) {
    case model::BulkAction::retry:
      return {State::dead, State::cancelled, State::completed};
    case model::BulkAction::remove:
      return {};
    case model::BulkAction::cancel:
      return {State::pending, State::active, State::scheduled, State::retrying, State::waiting};
    case model::BulkAction::move:
      return {State::pending, State::dead, State::scheduled, State::completed};
    case model::BulkAction::requeue:
      return {State::dead};
    case model::BulkAction::change_priority:
      return {State::pending, State::scheduled};
  }
  return {};
}

/// The filter, narrowed to the states that the action is for.
search::Filter narrowed(search::Filter filter, model::BulkAction action) {
  const auto allowed = states_for(action);
  if (allowed.empty()) return filter;
  if (filter.states.empty()) {
    filter.states = allowed;
    return filter;
  }
  std::erase_if(filter.states, [&](model::State state) {
    return std::find(allowed.begin(), allowed.end(), state) == allowed.end();
  });
  filter.nothing = filter.nothing || filter.states.empty();
  return filter;
}

void add(command::BulkStepped& sum, const command::BulkStepped& part) {
  sum.affected += part.affected;
  sum.skipped += part.skipped;
  sum.failed += part.failed;
  for (const auto& error : part.errors)
    if (sum.errors.size() < model::limits::kBulkErrors) sum.errors.push_back(error);
}

}  // namespace

BulkRunner::BulkRunner(call::Service& node, const Options& options,
                       const std::atomic<std::uint64_t>& memory_room)
    : node_(node),
      memory_room_(memory_room),
      waiting_(
          {.threads = 1, .bound = options.bound, .bound_per_caller = options.bound_per_caller}) {}

BulkRunner::~BulkRunner() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  auto waiting = waiting_.remove_if([](std::uint64_t, const auto&) { return true; });
  for (auto& operation : operations_)
    if (operation.call) waiting.push_back(std::move(operation.call));
  for (auto& call : waiting) {
    call->trouble = call::Trouble::stopping;
    node::deliver(std::move(call));
  }
}

void BulkRunner::start() {
  thread_ = std::thread([this] { run(); });
}

void BulkRunner::lead(bool leads) {
  {
    const std::lock_guard lock(mutex_);
    leads_ = leads;
    resumed_ = false;
  }
  changed_.notify_all();
}

void BulkRunner::look_again() {
  {
    const std::lock_guard lock(mutex_);
    resumed_ = !leads_;
  }
  changed_.notify_all();
}

void BulkRunner::take(std::unique_ptr<call::Call> call) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.add(call->caller, call)) {
      changed_.notify_all();
      return;
    }
  }
  call->trouble = call::Trouble::overloaded;
  node::deliver(std::move(call));
}

void BulkRunner::deliver(std::vector<std::unique_ptr<call::Call>> calls) {
  {
    const std::lock_guard lock(mutex_);
    reply_ = std::move(calls.back());  // one is asked at a time
  }
  changed_.notify_all();
}

std::unique_ptr<call::Call> BulkRunner::submit(std::unique_ptr<call::Call> call) {
  node_.submit(std::move(call));
  node_.flush();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return reply_ != nullptr || stopping_; });
  if (reply_) return std::move(reply_);
  // The node has stopped between taking the call and looking at it.
  auto lost = std::make_unique<Errand>(*this);
  lost->trouble = call::Trouble::stopping;
  return lost;
}

std::unique_ptr<call::Call> BulkRunner::ask(call::Query query, const call::Call* caller) {
  auto call = std::make_unique<Errand>(*this);
  call->query = std::move(query);
  if (caller != nullptr) call->hung_up = caller->hung_up;
  return submit(std::move(call));
}

std::unique_ptr<call::Call> BulkRunner::propose(command::Command command, call::Call* caller) {
  auto call = std::make_unique<Errand>(*this);
  call->commands.push_back(std::move(command));
  if (caller != nullptr) {
    call->audit = std::exchange(caller->audit, std::nullopt);
    call->grant = caller->grant;  // what it makes is the key's
  }
  return submit(std::move(call));
}

void BulkRunner::rest() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kRest, [this] { return stopping_; });
}

/// False: the runner is to end.
bool BulkRunner::wait_for_work() {
  while (true) {
    std::unique_ptr<call::Call> call;
    {
      std::unique_lock lock(mutex_);
      if (operations_.empty() && resumed_)
        changed_.wait(lock, [this] { return stopping_ || !resumed_ || waiting_.has_next(); });
      if (stopping_) return false;
      if (!resumed_ || !waiting_.has_next() || operations_.size() >= kAtOnce) return true;
      auto taken = waiting_.take();
      call = std::move(taken->item);
      waiting_.finish(taken->caller);
    }
    begin(std::move(call));
  }
}

void BulkRunner::run() {
  while (wait_for_work()) {
    resume();
    if (operations_.empty()) continue;
    Operation operation = std::move(operations_.front());
    operations_.pop_front();
    const Progress progress = try_step(operation);
    if (progress == Progress::done) {
      if (operation.call) answer(operation);
      continue;
    }
    operations_.push_back(std::move(operation));
    if (progress == Progress::pauses) rest();
  }
}

/// Takes up what is recorded and goes on, or leaves it to another node.
void BulkRunner::resume() {
  {
    const std::lock_guard lock(mutex_);
    if (resumed_) return;
    resumed_ = true;  // and whoever wants another look says so meanwhile
    if (!leads_) {
      std::erase_if(operations_, [](const Operation& one) { return !one.call; });
      return;
    }
  }
  const auto asked = ask(call::BulksQuery{});
  const auto* all = std::get_if<call::BulksAnswer>(&asked->answer);
  if (all == nullptr) {
    rest();
    return look_again();
  }
  for (const auto& record : all->bulks) {
    const auto same = [&](const Operation& one) {
      return one.record && one.record->id == record.id;
    };
    if (record.status == model::BulkStatus::processing &&
        std::none_of(operations_.begin(), operations_.end(), same))
      adopt(record);
  }
}

void BulkRunner::adopt(const model::BulkRecord& record) {
  auto filter = search::read_filter(record.filter.view());
  if (!filter) {
    static_cast<void>(
        propose(command::EndBulk{.bulk = record.id, .reason = base::Blob(filter.error().message)}));
    return;
  }
  Operation operation{.call = {}, .record = record, .query = {}, .found = {}, .outcome = {}};
  operation.query.filter = *std::move(filter);
  operation.query.action = record.action;
  operation.searched = record.cursor;
  operation.bound = record.bound;
  operations_.push_back(std::move(operation));
}

void BulkRunner::begin(std::unique_ptr<call::Call> call) {
  Operation operation{.call = {}, .record = {}, .query = {}, .found = {}, .outcome = {}};
  operation.query = std::move(std::get<call::BulkQuery>(call->query));
  operation.call = std::move(call);
  if (operation.query.dry_run) return try_out(std::move(operation));
  if (operation.query.filter_text.empty()) {
    const auto& jobs = operation.query.jobs;
    operation.found.assign(jobs.begin(), jobs.end());
    operation.all_found = true;
    operations_.push_back(std::move(operation));
    return;
  }
  const auto matches = count(*operation.call, operation.query.filter);
  if (!matches) return node::deliver(std::move(operation.call));
  operation.bound = matches->last;  // jobs that come later are not meant
  launch(std::move(operation), matches->count);
}

/// How many match; nothing, and the trouble in `call`, where nobody can say.
std::optional<call::SliceAnswer> BulkRunner::count(call::Call& call, const search::Filter& filter) {
  const auto asked = ask(call::SliceQuery{.filter = filter, .count = true}, &call);
  if (const auto* slice = std::get_if<call::SliceAnswer>(&asked->answer)) return *slice;
  call.trouble = asked->trouble;
  return std::nullopt;
}

void BulkRunner::try_out(Operation operation) {
  const auto& query = operation.query;
  std::vector<std::pair<search::Filter, std::uint64_t>> parts;  // and how many are meant
  if (!query.filter_text.empty()) {
    const auto matches = count(*operation.call, query.filter);
    if (!matches) return node::deliver(std::move(operation.call));
    parts.emplace_back(query.filter, matches->count);
  }
  for (std::size_t i = 0; i < query.jobs.size(); i += search::kMaxIds) {
    const auto end = std::min(query.jobs.size(), i + search::kMaxIds);
    search::Filter filter;
    filter.ids.emplace(query.jobs.begin() + static_cast<std::ptrdiff_t>(i),
                       query.jobs.begin() + static_cast<std::ptrdiff_t>(end));
    parts.emplace_back(std::move(filter), end - i);
  }
  for (const auto& [filter, meant] : parts) {
    const auto fit = count(*operation.call, narrowed(filter, query.action));
    if (!fit) return node::deliver(std::move(operation.call));
    operation.outcome.affected += fit->count;
    operation.outcome.skipped += meant - std::min(meant, fit->count);
  }
  answer(operation);
}

/// A few are done while the caller waits; many become an operation of their own.
void BulkRunner::launch(Operation operation, std::uint64_t matches) {
  const auto& query = operation.query;
  if (matches <= search::kMaxTotal) {
    operations_.push_back(std::move(operation));
    return;
  }
  const auto asked = propose(command::StartBulk{.action = query.action,
                                                .queue = query.queue,
                                                .priority = query.priority,
                                                .filter = query.filter_text,
                                                .estimated = matches},
                             operation.call.get());
  operation.call->trouble = asked->trouble;
  call::BulkAnswer answer;
  if (!asked->replies.empty()) {
    if (const auto* started = std::get_if<command::BulkReply>(&asked->replies[0])) {
      answer.started = started->bulk;
      look_again();
    } else if (const auto* refusal = std::get_if<command::Refusal>(&asked->replies[0])) {
      answer.refusal = *refusal;
    }
  }
  operation.call->answer = std::move(answer);
  node::deliver(std::move(operation.call));
}

void BulkRunner::answer(Operation& operation) {
  const auto took = Clock::now() - operation.begun;
  if (operation.call->trouble == call::Trouble::none)
    operation.call->answer = call::BulkAnswer{
        .started = {},
        .refusal = {},
        .outcome = std::move(operation.outcome),
        .duration_us = std::chrono::duration_cast<std::chrono::microseconds>(took).count()};
  node::deliver(std::move(operation.call));
}

BulkRunner::Progress BulkRunner::try_step(Operation& operation) {
  try {
    return step(operation);
  } catch (const std::bad_alloc&) {
    return in_trouble(operation, call::Trouble::out_of_memory);
  }
}

BulkRunner::Progress BulkRunner::step(Operation& operation) {
  if (operation.found.empty() && !operation.all_found) {
    const Progress progress = search(operation);
    if (progress != Progress::goes_on) return progress;
  }
  if (operation.found.empty() && operation.call) return Progress::done;
  return act(operation);
}

BulkRunner::Progress BulkRunner::search(Operation& operation) {
  const auto asked = ask(call::SliceQuery{.filter = operation.query.filter,
                                          .after = operation.searched,
                                          .upto = operation.bound,
                                          .limit = kSearchedJobs});
  const auto* slice = std::get_if<call::SliceAnswer>(&asked->answer);
  if (slice == nullptr) return in_trouble(operation, asked->trouble);
  operation.found.assign(slice->jobs.begin(), slice->jobs.end());
  operation.all_found = slice->jobs.size() < kSearchedJobs;
  if (!slice->jobs.empty()) operation.searched = slice->jobs.back().sequence();
  return Progress::goes_on;
}

/// Jobs that come back to life bring their payloads, which nobody has looked at: a step of them
/// must fit even if they are large.
std::size_t BulkRunner::step_jobs(model::BulkAction action) const {
  if (action != model::BulkAction::retry && action != model::BulkAction::requeue) return kStepJobs;
  const auto fit = memory_room_.load(std::memory_order_relaxed) / 4 / kLargeJob;
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(fit, 1, kStepJobs));
}

BulkRunner::Progress BulkRunner::act(Operation& operation) {
  const auto& query = operation.query;
  const auto end = operation.found.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                 step_jobs(query.action), operation.found.size()));
  command::BulkStep step{.bulk = {},
                         .action = query.action,
                         .queue = query.queue,
                         .priority = query.priority,
                         .jobs = {operation.found.begin(), end}};
  if (operation.record) {
    step.bulk = operation.record->id;
    step.after = operation.record->cursor;
    step.upto = step.jobs.empty() ? step.after : step.jobs.back().sequence();
    step.last = operation.all_found && end == operation.found.end();
  }
  const auto asked = propose(step, operation.call.get());
  if (asked->trouble != call::Trouble::none || asked->replies.empty())
    return in_trouble(operation, asked->trouble);
  return after_step(operation, *asked, step);
}

BulkRunner::Progress BulkRunner::after_step(Operation& operation, const call::Call& asked,
                                            const command::BulkStep& step) {
  const auto* stepped = std::get_if<command::BulkStepped>(&asked.replies[0]);
  if (stepped == nullptr) {
    if (operation.record) return catch_up(operation);
    const auto* refusal = std::get_if<command::Refusal>(&asked.replies[0]);
    call::BulkAnswer answer;
    if (refusal != nullptr) answer.refusal = *refusal;
    operation.call->answer = std::move(answer);
    node::deliver(std::move(operation.call));
    return Progress::done;
  }
  operation.found.erase(operation.found.begin(),
                        operation.found.begin() + static_cast<std::ptrdiff_t>(step.jobs.size()));
  if (operation.record) {
    operation.record->cursor = step.upto;
    return step.last ? Progress::done : Progress::goes_on;
  }
  add(operation.outcome, *stepped);
  return operation.found.empty() && operation.all_found ? Progress::done : Progress::goes_on;
}

/// A caller is told; what is recorded tries again, unless its search cannot be answered at all.
BulkRunner::Progress BulkRunner::in_trouble(Operation& operation, call::Trouble trouble) {
  if (operation.call) {
    operation.call->trouble = trouble;
    return Progress::done;
  }
  if (trouble == call::Trouble::stopping) return Progress::pauses;
  if (trouble == call::Trouble::too_slow) {
    static_cast<void>(
        propose(command::EndBulk{.bulk = operation.record->id,
                                 .reason = base::Blob("the search for its jobs took too long")}));
    return Progress::done;
  }
  return catch_up(operation) == Progress::done ? Progress::done : Progress::pauses;
}

/// The operation stands elsewhere than the runner thought: it was ended, or a step went through
/// whose reply was lost.
BulkRunner::Progress BulkRunner::catch_up(Operation& operation) {
  const auto asked = ask(call::BulksQuery{.bulk = operation.record->id, .seen = {}});
  const auto* answer = std::get_if<call::BulksAnswer>(&asked->answer);
  if (answer == nullptr) return Progress::pauses;
  if (answer->bulks.empty() || answer->bulks[0].status != model::BulkStatus::processing)
    return Progress::done;
  operation.record = answer->bulks[0];
  operation.searched = operation.record->cursor;
  operation.found.clear();
  operation.all_found = false;
  return Progress::goes_on;
}

}  // namespace jobbie::node
