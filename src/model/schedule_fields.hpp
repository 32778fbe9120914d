// A schedule in parts: which of its fields a change names, and putting those into a schedule.
#pragma once

#include <cstdint>

#include "model/records.hpp"

namespace jobbie::model {

/// Bits of a change's `fields`; part of the log's format: append only.
enum class ScheduleField : std::uint8_t {
  name = 0,
  cron = 1,
  zone = 2,
  catch_up = 3,
  paused = 4,
  queue = 5,
  payload = 6,
  priority = 7,
  max_retries = 8,
  unique_key = 9,
  unique_period = 10,
  unique_until = 11,
  tags = 12,
  expire_after = 13,
  retry_backoff = 14,
  retry_base_delay = 15,
  retry_max_delay = 16,
  retry_jitter = 17,
  lease = 18,
  max_runtime = 19,
  timeout = 20,
  group = 21,
  roles = 22,
  required_tags = 23,
  target_worker = 24,
  on_failure = 25,
  traceparent = 26,
};
inline constexpr unsigned kScheduleFields = 27;
inline constexpr std::uint64_t kAllScheduleFields = (std::uint64_t{1} << kScheduleFields) - 1;

constexpr std::uint64_t bit_of(ScheduleField field) {
  return std::uint64_t{1} << static_cast<unsigned>(field);
}
/// Those that decide when a schedule runs next.
inline constexpr std::uint64_t kScheduleTiming =
    bit_of(ScheduleField::cron) | bit_of(ScheduleField::zone) | bit_of(ScheduleField::paused);

/// Replaces the named fields of `spec` by those of `from`.
void take_fields(ScheduleSpec& spec, const ScheduleSpec& from, std::uint64_t fields);

}  // namespace jobbie::model
