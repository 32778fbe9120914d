// A bell: one thread rings it, others sleep until it has been rung.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace jobbie::call {

class Bell {
 public:
  void ring() {
    {
      const std::lock_guard lock(mutex_);
      ++rung_;
    }
    heard_.notify_all();
  }

  /// Until it has been rung more often than `heard` says, or the time is up; `heard` follows.
  void wait(std::uint64_t& heard, std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    heard_.wait_for(lock, at_most, [&] { return rung_ != heard; });
    heard = rung_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable heard_;
  std::uint64_t rung_ = 0;
};

}  // namespace jobbie::call
