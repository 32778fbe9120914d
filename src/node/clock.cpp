// Log time in microseconds, so that half of a short step is not lost.
#include "node/clock.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>

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

std::string SystemClock::boot() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

std::optional<base::Duration> passed_since(Clock& clock, const std::optional<LifeSign>& sign) {
  if (!sign || sign->boot.empty() || sign->boot != clock.boot()) return std::nullopt;
  const auto passed_us = clock.steady_us() - sign->steady_us;
  if (passed_us < 0) return std::nullopt;
  return base::Duration{passed_us / 1000};
}

LogClock::LogClock(Clock& clock, base::Instant last, const std::optional<LifeSign>& sign)
    : clock_(clock), steady_us_(clock.steady_us()) {
  const auto passed = passed_since(clock, sign);
  const auto begin = passed ? (sign->log + *passed).ms * 1000 : clock.wall_us();
  log_us_ = std::max(begin, last.ms * 1000);
}

base::Instant LogClock::now() {
  const std::int64_t steady = clock_.steady_us();
  const std::int64_t passed = std::max<std::int64_t>(steady - steady_us_, 0);
  steady_us_ = std::max(steady, steady_us_);
  const std::int64_t off = clock_.wall_us() - (log_us_ + passed);
  const bool near = off >= 0 && off <= kFollowedAtOnceUs;
  const auto lean = off < -kSlowedUpToUs ? 0 : std::clamp(off, -passed / 2, passed / 2);
  log_us_ += passed + (near ? off : lean);
  return {log_us_ / 1000};
}

base::Duration LogClock::offset() {
  const auto log = now();
  return base::Instant{clock_.wall_us() / 1000} - log;
}

void LogClock::follow(base::Instant other) {
  steady_us_ = clock_.steady_us();
  log_us_ = other.ms * 1000;
}

}  // namespace jobbie::node
