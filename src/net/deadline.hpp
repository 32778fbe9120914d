// How long an operation may take, and the waiting itself.
#pragma once

#include <chrono>
#include <string>

#include "net/error.hpp"
#include "net/interrupt.hpp"

struct pollfd;

namespace jobbie::net {

using Clock = std::chrono::steady_clock;

/// Holds for a whole operation, however many steps it has. `interrupt` ends it before that.
struct Deadline {
  Clock::time_point at;
  const Interrupt* interrupt = nullptr;

  [[nodiscard]] bool passed() const { return Clock::now() >= at; }
  /// Now and then so long; lengths that no clock can hold mean the latest time that it can.
  [[nodiscard]] static Deadline in(std::chrono::milliseconds length,
                                   const Interrupt* interrupt = nullptr);
};

/// Waits until one of the `count` descriptors is ready, at the longest until `until`, which may be
/// earlier than the deadline; false: that time has come, and the deadline has not.
///
/// A descriptor that is ready counts before the deadline's interrupt does: an answer that is here
/// already, maybe with work in it, is not thrown away.
[[nodiscard]] Result<bool> wait_for_any(pollfd* descriptors, std::size_t count,
                                        Clock::time_point until, const Deadline& deadline);

/// The same for one descriptor and poll()'s `events`, up to the deadline.
[[nodiscard]] Result<void> wait_for(int descriptor, short events, const Deadline& deadline);

/// What the system calls error `number`.
[[nodiscard]] std::string system_reason(int number);

}  // namespace jobbie::net
