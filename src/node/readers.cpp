// A small pool: each thread takes one question, answers it from the store, gives it back.
#include "node/readers.hpp"

#include <utility>

#include "node/deliver.hpp"
#include "store/store.hpp"

namespace jobbie::node {

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

void Readers::ask(std::unique_ptr<call::Call> call) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < bound_) waiting_.push_back(std::move(call));
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
    std::unique_ptr<call::Call> call;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;  // what was asked before the stop is still answered
      call = std::move(waiting_.front());
      waiting_.pop_front();
    }
    answer(*call);
    deliver(std::move(call));
  }
}

void Readers::answer(call::Call& call) {
  const auto take = [&](auto found) {
    if (found)
      call.answer = *std::move(found);
    else
      call.trouble = call::Trouble::unreadable;
  };
  if (const auto* job = std::get_if<call::JobQuery>(&call.query))
    take(store_.job(job->job));
  else if (const auto* batch = std::get_if<call::BatchQuery>(&call.query))
    take(store_.batch(batch->batch));
  else if (const auto* errors = std::get_if<call::ErrorsQuery>(&call.query))
    answer_errors(*errors, call);
  else if (const auto* logs = std::get_if<call::LogsQuery>(&call.query))
    answer_logs(*logs, call);
}

}  // namespace jobbie::node
