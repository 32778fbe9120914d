// An eventfd: poll() waits for it together with the socket.
#include "client/interrupt.hpp"

#include <cstdint>
#include <poll.h>
#include <unistd.h>

#include <sys/eventfd.h>

namespace jobbie::client {

Interrupt::Interrupt() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Interrupt::~Interrupt() {
  if (fd_ >= 0) close(fd_);
}

void Interrupt::raise() const {
  const std::uint64_t one = 1;
  // A full counter is raised already.
  [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);
}

bool Interrupt::raised() const {
  pollfd wait{.fd = fd_, .events = POLLIN, .revents = 0};
  return poll(&wait, 1, 0) > 0;
}

}  // namespace jobbie::client
