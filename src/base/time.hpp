// Instants and durations: integer milliseconds, with arithmetic that saturates instead of wrapping.
//
// Time inside the product is only ever a number that somebody handed in. Nothing here reads a
// clock.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace jobbie::base {

/// A length of time in milliseconds. Negative values are legal in arithmetic, never on the wire.
struct Duration {
  std::int64_t ms = 0;
  constexpr auto operator<=>(const Duration&) const = default;
};

/// A point in time: milliseconds since the Unix epoch.
struct Instant {
  std::int64_t ms = 0;
  constexpr auto operator<=>(const Instant&) const = default;
};

inline constexpr Instant kNever{std::numeric_limits<std::int64_t>::max()};

/// The longest duration that a caller may name: 100 years.
inline constexpr Duration kMaxDuration{100LL * 366 * 86'400'000};

/// The latest instant that is accepted from outside (year 9999), well below kNever.
inline constexpr Instant kMaxInstant{253'402'300'799'999LL};

// For constants; a number from outside is checked before it becomes a duration.
constexpr Duration milliseconds(std::int64_t n) { return {n}; }
constexpr Duration seconds(std::int64_t n) { return {n * 1000}; }
constexpr Duration minutes(std::int64_t n) { return {n * 60'000}; }
constexpr Duration hours(std::int64_t n) { return {n * 3'600'000}; }
constexpr Duration days(std::int64_t n) { return {n * 86'400'000}; }

constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

constexpr std::int64_t saturating_sub(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

/// kNever stays kNever whatever is added to it.
constexpr Instant operator+(Instant t, Duration d) {
  return t == kNever ? kNever : Instant{saturating_add(t.ms, d.ms)};
}
constexpr Instant operator-(Instant t, Duration d) {
  return t == kNever ? kNever : Instant{saturating_sub(t.ms, d.ms)};
}
constexpr Duration operator-(Instant a, Instant b) { return {saturating_sub(a.ms, b.ms)}; }

}  // namespace jobbie::base
