// A small pool: each thread takes the question whose turn it is, answers it from the store, gives
// it back.
#include "node/readers.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <unistd.h>
#include <utility>

#include <sys/resource.h>

#include "node/deliver.hpp"
#include "store/store.hpp"

namespace jobbie::node {
namespace {

using FoundJob = base::Result<std::optional<model::JobRecord>>;

FoundJob without_swept(FoundJob job, const std::vector<command::SweptJobs>& sweeps) {
  if (!job || !*job) return job;
  const auto& record = **job;
  for (const auto& swept : sweeps)
    if (swept.state == record.state && record.ended_at < swept.before &&
        swept.queue == record.spec.queue)
      return std::nullopt;
  return job;
}

/// Of a job that the engine does not hold: it has ended, or there is none.
base::Result<call::Why> why_of(const FoundJob& job) {
  if (!job) return std::unexpected(job.error());
  if (!*job) return call::Why{};
  return call::Why{
      .found = true, .state = (*job)->state, .reasons = {}, .queue = (*job)->spec.queue};
}

/// How long a search waits for the database to catch up, how long where that is in trouble, and
/// how often it looks up meanwhile.
constexpr std::chrono::milliseconds kCatchUp{5'000};
constexpr std::chrono::milliseconds kCatchUpInTrouble{1'000};
constexpr std::chrono::milliseconds kLookUp{20};

/// What a search that is under way is given when the node begins to stop.
constexpr std::chrono::milliseconds kDrainTime{1'000};

/// Each step of the nice value takes a tenth off a thread's weight: at ten a tenth is left. Less
/// would let a busy node starve a search until its time is over.
constexpr int kGentle = 10;

}  // namespace

Readers::Readers(store::Store& store, const Options& options)
    : store_(store), queue_(options.queue) {
  for (std::size_t i = 0; i < options.queue.threads; ++i)
    threads_.emplace_back([this, pace = options.pace] { work(pace); });
}

Readers::~Readers() {
  std::vector<Question> waiting;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    waiting = queue_.remove_if([](std::uint64_t, const Question&) { return true; });
  }
  all_end_ = Clock::now().time_since_epoch().count();
  changed_.notify_all();
  for (auto& question : waiting) refuse(std::move(question), call::Trouble::stopping);
  for (auto& thread : threads_) thread.join();
}

void Readers::drain() {
  std::vector<Question> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (draining_) return;
    draining_ = true;
    waiting = queue_.remove_if([](std::uint64_t caller, const Question&) { return caller != 0; });
  }
  callers_end_ = (Clock::now() + kDrainTime).time_since_epoch().count();
  for (auto& question : waiting) refuse(std::move(question), call::Trouble::stopping);
}

void Readers::ask(std::unique_ptr<call::Call> call, std::vector<command::SweptJobs> sweeps) {
  add({.call = std::move(call), .sweeps = std::move(sweeps), .after = 0});
}

void Readers::ask(std::unique_ptr<call::Call> call, std::uint64_t after) {
  add({.call = std::move(call), .sweeps = {}, .after = after});
}

void Readers::refuse(Question question, call::Trouble trouble) {
  question.call->trouble = trouble;
  deliver(std::move(question.call));
}

bool Readers::add_to_queue(Question& question, std::vector<Question>& dropped) {
  const auto caller = question.call->caller;
  if (queue_.add(caller, question)) return true;
  dropped = queue_.remove_if(
      [](std::uint64_t, const Question& waiting) { return waiting.call->has_hung_up(); });
  return !dropped.empty() && queue_.add(caller, question);
}

void Readers::add(Question question) {
  std::vector<Question> dropped;
  auto trouble = call::Trouble::none;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || (draining_ && question.call->caller != 0))
      trouble = call::Trouble::stopping;
    else if (!add_to_queue(question, dropped))
      trouble = call::Trouble::overloaded;
  }
  for (auto& gone : dropped) refuse(std::move(gone), call::Trouble::cancelled);
  if (trouble != call::Trouble::none) return refuse(std::move(question), trouble);
  changed_.notify_one();
}

call::Trouble Readers::given_up(const call::Call& call) const {
  if (call.has_hung_up()) return call::Trouble::cancelled;
  const auto end = call.caller == 0 ? all_end_.load(std::memory_order_relaxed)
                                    : std::min(all_end_.load(std::memory_order_relaxed),
                                               callers_end_.load(std::memory_order_relaxed));
  return Clock::now().time_since_epoch().count() >= end ? call::Trouble::stopping
                                                        : call::Trouble::none;
}

call::Trouble Readers::trouble_of(const base::Error& error, const call::Call& call) const {
  if (error.code == "search_too_slow") return call::Trouble::too_slow;
  if (error.code == store::kCancelled) return given_up(call);
  return call::Trouble::unreadable;
}

void Readers::work(Pace pace) {
  // Of this thread alone, as Linux has it. Should it be refused, searches merely cost more.
  if (pace == Pace::gentle)
    static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kGentle));
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || queue_.has_next(); });
    auto taken = queue_.take();
    if (!taken) return;
    lock.unlock();
    auto& call = taken->item.call;
    call->trouble = given_up(*call);
    if (call->trouble == call::Trouble::none && wait_for_store(taken->item))
      try_to_answer(taken->item);
    // First, so that what the caller asks for next finds it done.
    lock.lock();
    queue_.finish(taken->caller);
    lock.unlock();
    deliver(std::move(call));
    lock.lock();
  }
}

/// A database that cannot be written to still tells what it has, and the answer says so; only who
/// is to change jobs by what is found gets no such answer. False: the call says why not.
bool Readers::wait_for_store(const Question& question) {
  call::Call& call = *question.call;
  const auto began = Clock::now();
  while (question.after != 0 && !store_.wait_until_written(question.after, kLookUp)) {
    call.trouble = given_up(call);
    if (call.trouble != call::Trouble::none) return false;
    const auto waited = Clock::now() - began;
    if (waited >= kCatchUpInTrouble && store_.trouble() &&
        !std::holds_alternative<call::SliceQuery>(call.query)) {
      call.stale = true;
      return true;
    }
    if (waited >= kCatchUp) {
      call.trouble = call::Trouble::behind;
      return false;
    }
  }
  return true;
}

/// What does not fit into memory is this question's trouble, not everybody's.
void Readers::try_to_answer(const Question& question) {
  try {
    answer(question);
  } catch (const std::bad_alloc&) {
    question.call->answer = {};
    question.call->trouble = call::Trouble::out_of_memory;
  }
}

void Readers::answer(const Question& question) {
  call::Call& call = *question.call;
  if (const auto* errors = std::get_if<call::ErrorsQuery>(&call.query))
    answer_errors(*errors, call);
  else if (const auto* logs = std::get_if<call::LogsQuery>(&call.query))
    answer_logs(*logs, call);
  else if (const auto* wanted = std::get_if<call::SearchQuery>(&call.query))
    search(call, *wanted);
  else if (const auto* batches = std::get_if<call::BatchesQuery>(&call.query))
    list_batches(call, *batches);
  else if (const auto* part = std::get_if<call::SliceQuery>(&call.query))
    slice(call, *part);
  else if (const auto* audit = std::get_if<call::AuditQuery>(&call.query))
    answer_audit(*audit, call);
  else if (const auto* deliveries = std::get_if<call::DeliveriesQuery>(&call.query))
    answer_deliveries(*deliveries, call);
  else
    answer_lookup(question);
}

void Readers::answer_lookup(const Question& question) {
  call::Call& call = *question.call;
  const auto take = [&](auto found) {
    if (found)
      call.answer = *std::move(found);
    else
      call.trouble = call::Trouble::unreadable;
  };
  if (const auto* job = std::get_if<call::JobQuery>(&call.query))
    take(without_swept(store_.job(job->job), question.sweeps));
  else if (const auto* batch = std::get_if<call::BatchQuery>(&call.query))
    take(store_.batch(batch->batch));
  else if (const auto* why = std::get_if<call::WhyQuery>(&call.query))
    take(why_of(without_swept(store_.job(why->job), question.sweeps)));
}

void Readers::search(call::Call& call, const call::SearchQuery& query) {
  const auto begin = std::chrono::steady_clock::now();
  auto page = store_.search(query.request, is_given_up(call));
  if (!page) {
    call.trouble = trouble_of(page.error(), call);
    return;
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  call.answer = call::SearchAnswer{
      .page = *std::move(page),
      .duration_us = std::chrono::duration_cast<std::chrono::microseconds>(took).count()};
}

void Readers::list_batches(call::Call& call, const call::BatchesQuery& query) {
  auto found =
      store_.batches(query.finished, query.before, std::size_t{query.limit} + 1, is_given_up(call));
  if (!found) {
    call.trouble = trouble_of(found.error(), call);
    return;
  }
  call::BatchesAnswer answer{.batches = *std::move(found), .more = false};
  answer.more = answer.batches.size() > query.limit;
  if (answer.more) answer.batches.resize(query.limit);
  call.answer = std::move(answer);
}

void Readers::slice(call::Call& call, const call::SliceQuery& query) {
  call::SliceAnswer answer;
  if (query.count) {
    auto count = store_.count(query.filter, is_given_up(call));
    if (!count) {
      call.trouble = trouble_of(count.error(), call);
      return;
    }
    answer.count = count->matches;
    answer.last = count->last;
  } else {
    auto jobs =
        store_.slice(query.filter, {.after = query.after, .upto = query.upto, .limit = query.limit},
                     is_given_up(call));
    if (!jobs) {
      call.trouble = trouble_of(jobs.error(), call);
      return;
    }
    answer.jobs = *std::move(jobs);
  }
  call.answer = std::move(answer);
}

}  // namespace jobbie::node
