// poll(), with the interrupt among the descriptors.
#include "net/deadline.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>

#include "base/check.hpp"

namespace jobbie::net {
namespace {

using std::chrono::milliseconds;

/// One wait of poll(), which counts in an int.
constexpr milliseconds kLongestPoll{60'000};
/// How often an interrupt is looked at that has no descriptor.
constexpr milliseconds kInterruptLook{200};
/// Attempts to connect that race, and the interrupt.
constexpr std::size_t kMaxDescriptors = 32;
/// Beyond this a length means "for ever"; added to the clock it cannot overflow.
constexpr std::chrono::hours kForever{24 * 365 * 10};

}  // namespace

Deadline Deadline::in(milliseconds length, const Interrupt* interrupt) {
  const milliseconds bounded = std::clamp<milliseconds>(length, milliseconds(0), kForever);
  return {.at = Clock::now() + bounded, .interrupt = interrupt};
}

Result<bool> wait_for_any(pollfd* descriptors, std::size_t count, Clock::time_point until,
                          const Deadline& deadline) {
  JOBBIE_CHECK(count < kMaxDescriptors);
  const Interrupt* const interrupt = deadline.interrupt;
  std::array<pollfd, kMaxDescriptors> all{};
  while (true) {
    const auto now = Clock::now();
    if (now >= deadline.at)
      return std::unexpected(
          Error{.failure = Failure::timed_out, .message = "the server did not answer in time"});
    if (now >= until) return false;
    auto longest = kLongestPoll;
    if (interrupt != nullptr && interrupt->descriptor() < 0) longest = kInterruptLook;
    const auto left =
        std::min(longest, std::chrono::ceil<milliseconds>(std::min(until, deadline.at) - now));
    std::copy_n(descriptors, count, all.begin());
    all[count] = {
        .fd = interrupt != nullptr ? interrupt->descriptor() : -1, .events = POLLIN, .revents = 0};
    const int ready = ::poll(all.data(), count + 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR)
      return std::unexpected(
          Error{.failure = Failure::no_resources, .message = system_reason(errno)});
    if (ready > 0) {
      std::copy_n(all.begin(), count, descriptors);
      if (std::any_of(descriptors, descriptors + count,
                      [](const pollfd& each) { return each.revents != 0; }))
        return true;
    }
    if (interrupt != nullptr && interrupt->raised())
      return std::unexpected(Error{.failure = Failure::interrupted, .message = "interrupted"});
  }
}

Result<void> wait_for(int descriptor, short events, const Deadline& deadline) {
  pollfd wanted{.fd = descriptor, .events = events, .revents = 0};
  const auto ready = wait_for_any(&wanted, 1, Clock::time_point::max(), deadline);
  if (!ready) return std::unexpected(ready.error());
  return {};
}

std::string system_reason(int number) {
  std::array<char, 128> buffer{};
  return strerror_r(number, buffer.data(), buffer.size());
}

}  // namespace jobbie::net
