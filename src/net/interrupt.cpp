// An eventfd: poll() waits for it together with the socket.
#include "net/interrupt.hpp"

#include <cerrno>
#include <cstdint>
#include <unistd.h>

#include <sys/eventfd.h>

namespace jobbie::net {

Interrupt::Interrupt() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Interrupt::~Interrupt() {
  if (fd_ >= 0) close(fd_);
}

void Interrupt::raise() const {
  const int before = errno;  // whoever a signal handler interrupted may be about to look at it
  raised_ = true;
  const std::uint64_t one = 1;
  // A full counter is raised already.
  [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);
  errno = before;
}

}  // namespace jobbie::net
