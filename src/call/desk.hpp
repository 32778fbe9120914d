// Asking the node and waiting for the answer, for threads that have nothing else to do.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "call/call.hpp"

namespace jobbie::call {

/// Commands or a question of the program itself.
class PlainCall final : public Call {
 public:
  using Call::Call;
  void finish() override {}
};

/// One thread's, and one call at a time.
class Desk final : public Inbox {
 public:
  explicit Desk(Service& service) : service_(service) {}

  [[nodiscard]] std::unique_ptr<PlainCall> make() { return std::make_unique<PlainCall>(*this); }

  /// The call as it came back. Every call does, whatever happens.
  std::unique_ptr<Call> ask(std::unique_ptr<Call> call) {
    service_.submit(std::move(call));
    service_.flush();
    std::unique_lock lock(mutex_);
    back_.wait(lock, [this] { return call_ != nullptr; });
    return std::exchange(call_, nullptr);
  }

  void deliver(std::vector<std::unique_ptr<Call>> calls) override {
    // With the lock held: once it is free, the desk may be gone.
    const std::lock_guard lock(mutex_);
    for (auto& call : calls) call_ = std::move(call);
    back_.notify_one();
  }

 private:
  Service& service_;
  std::mutex mutex_;
  std::condition_variable back_;
  std::unique_ptr<Call> call_;
};

}  // namespace jobbie::call
