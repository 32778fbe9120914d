// A small pool: each thread takes one question, answers it from the store, gives it back.
#include "node/readers.hpp"

#include <utility>

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

}  // namespace

Readers::Readers(store::Store& store, std::size_t threads, std::size_t bound)
    : store_(store), bound_(bound) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
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
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < bound_) waiting_.push_back({std::move(call), std::move(sweeps)});
  }
  if (!call) {
    changed_.notify_one();
    return;
  }
  call->trouble = call::Trouble::overloaded;
  deliver(std::move(call));
}

void Readers::work() {
  while (true) {
    Question question;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;  // what was asked before the stop is still answered
      question = std::move(waiting_.front());
      waiting_.pop_front();
    }
    answer(question);
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
  else if (const auto* audit = std::get_if<call::AuditQuery>(&call.query))
    answer_audit(*audit, call);
  else if (const auto* deliveries = std::get_if<call::DeliveriesQuery>(&call.query))
    answer_deliveries(*deliveries, call);
}

}  // namespace jobbie::node
