// A thread that has ended is joined on the transport's thread.
#include "peer/workers.hpp"

#include <csignal>
#include <utility>

namespace jobbie::peer {

void block_sigpipe() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

bool Workers::start(std::move_only_function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (threads_.size() >= most_) return false;
  const std::uint64_t number = ++last_;
  threads_.emplace(number, std::thread([this, number, work = std::move(work)]() mutable {
                     block_sigpipe();
                     work();
                     asio::post(io_, [this, number] {
                       std::thread ended;
                       {
                         const std::lock_guard again(mutex_);
                         ended = std::move(threads_.extract(number).mapped());
                       }
                       ended.join();
                       idle_.notify_all();
                     });
                   }));
  return true;
}

void Workers::wait_until_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return threads_.empty(); });
}

}  // namespace jobbie::peer
