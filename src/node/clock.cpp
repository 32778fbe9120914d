// Log time in microseconds, so that half of a short step is not lost.
#include "node/clock.hpp"

#include <algorithm>
#include <ctime>

namespace jobbie::node {
namespace {

std::int64_t read_clock_us(clockid_t id) {
  timespec at{};
  clock_gettime(id, &at);
  return at.tv_sec * 1'000'000 + at.tv_nsec / 1000;
}

}  // namespace

std::int64_t SystemClock::wall_us() { return read_clock_us(CLOCK_REALTIME); }
std::int64_t SystemClock::steady_us() { return read_clock_us(CLOCK_BOOTTIME); }

LogClock::LogClock(Clock& clock, base::Instant last)
    : clock_(clock),
      steady_us_(clock.steady_us()),
      log_us_(std::max(clock.wall_us(), last.ms * 1000)) {}

base::Instant LogClock::now() {
  const std::int64_t steady = clock_.steady_us();
  const std::int64_t passed = std::max<std::int64_t>(steady - steady_us_, 0);
  steady_us_ = std::max(steady, steady_us_);
  const std::int64_t off = clock_.wall_us() - (log_us_ + passed);
  const bool near = off >= 0 && off <= kFollowedAtOnceUs;
  log_us_ += passed + (near ? off : std::clamp(off, -passed / 2, passed / 2));
  return {log_us_ / 1000};
}

void LogClock::follow(base::Instant other) {
  steady_us_ = clock_.steady_us();
  log_us_ = other.ms * 1000;
}

}  // namespace jobbie::node
