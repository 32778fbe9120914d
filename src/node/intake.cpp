// The intake: a vector under a mutex, and a wake-up only for a thread that sleeps.
#include "node/intake.hpp"

#include <chrono>
#include <utility>

namespace jobbie::node {
namespace {

constexpr std::size_t kBytesACommand = 64;

std::size_t size_of(const model::JobSpec& job) {
  return kBytesACommand + job.payload.size() + job.tags.size() + job.unique.key.size() +
         job.depends_on.size() * sizeof(base::JobId);
}

struct SizeOf {
  std::size_t operator()(const command::Enqueue& c) const { return size_of(c.job); }
  std::size_t operator()(const command::EnqueueMany& c) const {
    std::size_t bytes = kBytesACommand;
    for (const auto& job : c.jobs) bytes += size_of(job);
    return bytes;
  }
  std::size_t operator()(const command::Ack& c) const { return kBytesACommand + c.result.size(); }
  std::size_t operator()(const command::Fail& c) const {
    return kBytesACommand + c.error.size() + c.backtrace.size();
  }
  std::size_t operator()(const command::Heartbeat& c) const {
    std::size_t bytes = kBytesACommand;
    for (const auto& beat : c.beats)
      bytes += kBytesACommand + beat.progress.size() + beat.checkpoint.size();
    return bytes;
  }
  std::size_t operator()(const command::AppendLogs& c) const {
    std::size_t bytes = kBytesACommand;
    for (const auto& line : c.lines) bytes += kBytesACommand + line.message.size();
    return bytes;
  }
  std::size_t operator()(const command::Retry& c) const {
    return kBytesACommand + c.payload.size();
  }
  std::size_t operator()(const command::CreateSchedule& c) const { return size_of(c.spec.job); }
  std::size_t operator()(const command::UpdateSchedule& c) const { return size_of(c.spec.job); }
  template <typename Other>
  std::size_t operator()(const Other&) const {
    return kBytesACommand;
  }
};

}  // namespace

std::size_t approximate_bytes(const call::Call& call) {
  std::size_t bytes = 0;
  for (const auto& command : call.commands) bytes += std::visit(SizeOf{}, command);
  return bytes;
}

bool Intake::push(std::unique_ptr<call::Call>& call) {
  const std::size_t bytes = approximate_bytes(*call);
  const std::lock_guard lock(mutex_);
  if (items_.size() >= bounds_.calls || (bytes_ != 0 && bytes_ + bytes > bounds_.bytes))
    return false;
  items_.push_back({std::move(call), bytes});
  bytes_ += bytes;
  return true;
}

void Intake::flush() {
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_ || items_.empty()) return;
    waiting_ = false;
  }
  changed_.notify_one();
}

void Intake::take(std::vector<Item>& into, std::int64_t patience_us) {
  into.clear();
  std::unique_lock lock(mutex_);
  if (items_.empty() && !woken_ && patience_us > 0) {
    waiting_ = true;
    changed_.wait_for(lock, std::chrono::microseconds(patience_us),
                      [this] { return !items_.empty() || woken_; });
    waiting_ = false;
  }
  woken_ = false;
  bytes_ = 0;
  std::swap(into, items_);
}

void Intake::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

}  // namespace jobbie::node
