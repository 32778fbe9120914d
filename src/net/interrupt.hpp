// A way to end an operation that waits, from another thread or from a signal handler.
//
// Part of the installed client library, as client::Interrupt: needs nothing but the standard
// library.
#pragma once

#include <atomic>

namespace jobbie::net {

/// Once raised it stays so. raise() may be called from any thread and from a signal handler.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  void raise() const;
  [[nodiscard]] bool raised() const { return raised_; }
  /// Becomes readable when raised; -1 if the system had none to give.
  [[nodiscard]] int descriptor() const { return fd_; }

 private:
  mutable std::atomic<bool> raised_ = false;
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait");
  int fd_;
};

}  // namespace jobbie::net
