// The rules that validate() is made of, one small function each. Private to validate*.cpp.
//
// A rule gives a Fault: two pointers and a number, no text. The sentence for a person is written
// only once something is wrong, so that commands which pass cost no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "command/reply.hpp"
#include "model/job.hpp"
#include "model/limits.hpp"

namespace jobbie::command::rules {

namespace limits = model::limits;
using base::Blob;

/// What is wrong; the sentences are in validate_rules.cpp.
enum class Problem : std::uint8_t {
  none,
  empty,
  too_long,  ///< bytes
  too_many,  ///< elements
  control_character,
  bad_queue_name,
  bad_queue_pattern,
  not_an_object,
  duration_range,
  instant_range,
  too_short,  ///< milliseconds
  too_large,
  too_small,
  unknown_value,
  needs_key,
  needs_period,
  bad_per,
  nil_id,
  not_in_request,  ///< depends_on_index without a request of several jobs
  index_range,
  not_in_schedule,
  two_times,  ///< scheduled_at as well
};

struct Fault {
  Problem problem = Problem::none;
  const char* field = "";
  std::int64_t bound = 0;

  explicit operator bool() const { return problem != Problem::none; }
};

/// The refusal that a fault comes to; nothing for no fault. `prefix` goes before the field's name.
std::optional<Refusal> refuse(const Fault& fault, std::string_view prefix = {});
Refusal refusal(std::string field, std::string message);

/// Checks of a job that stands alone, or among `siblings` jobs of one request (zero: alone).
Fault check_job(const model::JobSpec& job, std::size_t siblings);

inline constexpr std::uint8_t kQueueCharacter = 1;
inline constexpr std::uint8_t kPatternCharacter = 2;

inline constexpr auto kCharacters = [] {
  std::array<std::uint8_t, 256> table{};
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:/";
  for (const char c : kPlain) {
    table[static_cast<unsigned char>(c)] = kQueueCharacter | kPatternCharacter;
  }
  table['*'] = kPatternCharacter;
  table['?'] = kPatternCharacter;
  return table;
}();

/// Whether every byte has that mark. No early exit: names are short, and a bad one is rare.
inline bool all_marked(std::string_view text, std::uint8_t mark) {
  std::uint8_t common = mark;
  for (const char c : text) common &= kCharacters[static_cast<unsigned char>(c)];
  return common != 0;
}

inline bool has_control(std::string_view text) {
  unsigned found = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    found |= static_cast<unsigned>(byte < 0x20) | static_cast<unsigned>(byte == 0x7f);
  }
  return found != 0;
}

inline Fault at_most_bytes(const Blob& value, std::size_t max, const char* field) {
  if (value.size() <= max) return {};
  return {Problem::too_long, field, static_cast<std::int64_t>(max)};
}

inline Fault queue_name(const Blob& name, const char* field = "queue") {
  if (name.empty()) return {Problem::empty, field};
  if (auto fault = at_most_bytes(name, limits::kQueueName, field)) return fault;
  if (!all_marked(name.view(), kQueueCharacter)) return {Problem::bad_queue_name, field};
  return {};
}

inline Fault queue_patterns(const std::vector<Blob>& patterns) {
  constexpr const char* kField = "queues";
  if (patterns.size() > limits::kQueuesPerClaim)
    return {Problem::too_many, kField, limits::kQueuesPerClaim};
  for (const Blob& pattern : patterns) {
    if (pattern.empty()) return {Problem::empty, kField};
    if (auto fault = at_most_bytes(pattern, limits::kQueueName, kField)) return fault;
    if (!all_marked(pattern.view(), kPatternCharacter)) return {Problem::bad_queue_pattern, kField};
  }
  return {};
}

/// A name that may be left out.
inline Fault optional_name(const Blob& name, const char* field) {
  if (name.empty()) return {};
  if (auto fault = at_most_bytes(name, limits::kName, field)) return fault;
  if (has_control(name.view())) return {Problem::control_character, field};
  return {};
}

inline Fault required_name(const Blob& name, const char* field) {
  if (name.empty()) return {Problem::empty, field};
  return optional_name(name, field);
}

inline Fault name_list(const std::vector<Blob>& names, std::size_t max, const char* field) {
  if (names.empty()) return {};
  if (names.size() > max) return {Problem::too_many, field, static_cast<std::int64_t>(max)};
  for (const Blob& name : names) {
    if (auto fault = required_name(name, field)) return fault;
  }
  return {};
}

inline Fault duration(base::Duration value, const char* field) {
  if (value.ms >= 0 && value <= base::kMaxDuration) return {};
  return {Problem::duration_range, field};
}

inline Fault instant(base::Instant value, const char* field) {
  if (value.ms >= 0 && value <= base::kMaxInstant) return {};
  return {Problem::instant_range, field};
}

inline Fault lease(base::Duration value, const char* field) {
  if (value.ms == 0) return {};
  if (auto fault = duration(value, field)) return fault;
  if (value < limits::kMinLease) return {Problem::too_short, field, limits::kMinLease.ms};
  return {};
}

inline Fault at_most(std::uint32_t value, std::uint32_t max, const char* field) {
  if (value <= max) return {};
  return {Problem::too_large, field, max};
}

inline Fault at_least(std::uint32_t value, std::uint32_t min, const char* field) {
  if (value >= min) return {};
  return {Problem::too_small, field, min};
}

template <typename Enum>
Fault known(Enum value, Enum last, const char* field) {
  if (value <= last) return {};
  return {Problem::unknown_value, field};
}

template <typename Id>
Fault not_nil(const Id& id, const char* field) {
  if (!id.is_nil()) return {};
  return {Problem::nil_id, field};
}

}  // namespace jobbie::command::rules
