// A small pool: each thread takes one question, answers it from the store, gives it back.
#include "node/readers.hpp"

#include <chrono>
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

/// How long a search waits for the database to catch up.
constexpr std::chrono::milliseconds kCatchUp{5'000};

/// Each step of the nice value takes a tenth off a thread's weight: at ten a tenth is left. Less
/// would let a busy node starve a search until its time is over.
constexpr int kGentle = 10;

call::Trouble trouble_of_search(const base::Error& error) {
  return error.code == "search_too_slow" ? call::Trouble::too_slow : call::Trouble::unreadable;
}

}  // namespace

Readers::Readers(store::Store& store, const Options& options)
    : store_(store), bound_(options.bound) {
  for (std::size_t i = 0; i < options.threads; ++i)
    threads_.emplace_back([this, pace = options.pace] { work(pace); });
}

Readers::~Readers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Readers::ask(std::unique_ptr<call::Call> call, std::vector<command::SweptJobs> sweeps) {
  add({.call = std::move(call), .sweeps = std::move(sweeps), .after = 0});
}

void Readers::ask(std::unique_ptr<call::Call> call, std::uint64_t after) {
  add({.call = std::move(call), .sweeps = {}, .after = after});
}

void Readers::add(Question question) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < bound_) waiting_.push_back(std::move(question));
  }
  if (!question.call) {
    changed_.notify_one();
    return;
  }
  question.call->trouble = call::Trouble::overloaded;
  deliver(std::move(question.call));
}

void Readers::work(Pace pace) {
  // Of this thread alone, as Linux has it. Should it be refused, searches merely cost more.
  if (pace == Pace::gentle)
    static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kGentle));
  while (true) {
    Question question;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;  // what was asked before the stop is still answered
      question = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (question.after == 0 || store_.wait_until_written(question.after, kCatchUp))
      answer(question);
    else
      question.call->trouble = call::Trouble::behind;
    deliver(std::move(question.call));
  }
}

void Readers::answer(const Question& question) {
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
  else if (const auto* errors = std::get_if<call::ErrorsQuery>(&call.query))
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
}

void Readers::search(call::Call& call, const call::SearchQuery& query) {
  const auto begin = std::chrono::steady_clock::now();
  auto page = store_.search(query.request);
  if (!page) {
    call.trouble = trouble_of_search(page.error());
    return;
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  call.answer = call::SearchAnswer{
      .page = *std::move(page),
      .duration_us = std::chrono::duration_cast<std::chrono::microseconds>(took).count()};
}

void Readers::list_batches(call::Call& call, const call::BatchesQuery& query) {
  auto found = store_.batches(query.finished, query.before, std::size_t{query.limit} + 1);
  if (!found) {
    call.trouble = trouble_of_search(found.error());
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
    auto count = store_.count(query.filter);
    if (!count) {
      call.trouble = trouble_of_search(count.error());
      return;
    }
    answer.count = count->matches;
    answer.last = count->last;
  } else {
    auto jobs = store_.slice(query.filter,
                             {.after = query.after, .upto = query.upto, .limit = query.limit});
    if (!jobs) {
      call.trouble = trouble_of_search(jobs.error());
      return;
    }
    answer.jobs = *std::move(jobs);
  }
  call.answer = std::move(answer);
}

}  // namespace jobbie::node
