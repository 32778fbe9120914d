// A way to end a request that waits, from another thread or from a signal handler.
#pragma once

namespace jobbie::client {

/// Once raised it stays so. raise() may be called from any thread and from a signal handler.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  void raise() const;
  bool raised() const;
  /// Becomes readable when raised; -1 if the system had none to give.
  int descriptor() const { return fd_; }

 private:
  int fd_;
};

}  // namespace jobbie::client
