// Threads for work that waits, a bounded number of them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "peer/asio.hpp"

namespace jobbie::peer {

class Workers {
 public:
  Workers(asio::io_context& io, std::size_t most) : io_(io), most_(most) {}

  /// On the transport's thread. False if as many as may be are at work. What `work` posts to the
  /// transport's thread runs before its end counts.
  bool start(std::move_only_function<void()> work);
  /// Any other thread, while the transport's still runs: returns when nobody is at work.
  void wait_until_idle();

 private:
  asio::io_context& io_;
  const std::size_t most_;
  std::mutex mutex_;  ///< guards threads_
  std::condition_variable idle_;
  std::map<std::uint64_t, std::thread> threads_;
  std::uint64_t last_ = 0;
};

/// To be called first on every thread of this library; see Stream.
void block_sigpipe();

}  // namespace jobbie::peer
