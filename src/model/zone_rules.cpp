// Offsets and local times of a zone; see zone_rules.hpp.
#include "model/zone_rules.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace jobbie::model {
namespace {

// Rounds down, also before 1970.
std::int64_t to_seconds(base::Instant at) {
  const std::int64_t ms = std::clamp(at, kMinZoneInstant, base::kMaxInstant).ms;
  return ms / 1000 - (ms % 1000 < 0 ? 1 : 0);
}

// Rules that were not validated may hold any offset; bounding it here keeps the sums from
// overflowing.
std::int64_t bounded(std::int32_t offset_s) {
  return std::clamp(offset_s, -kMaxOffset_s, kMaxOffset_s);
}

std::unexpected<base::Error> bad(std::string message) {
  return std::unexpected(base::Error{std::string(kBadZoneRules), std::move(message), 0});
}

using Index = std::size_t;

// Rules are segments of constant offset: segment 0 lasts until the first transition, segment i
// begins at transition i - 1. This is the segment that `at_s` lies in.
Index segment_of(const ZoneRules& rules, std::int64_t at_s) {
  const auto later = std::upper_bound(
      rules.transitions.begin(), rules.transitions.end(), at_s,
      [](std::int64_t s, const ZoneTransition& next) { return s < to_seconds(next.at); });
  return static_cast<Index>(std::distance(rules.transitions.begin(), later));
}

std::int64_t segment_offset(const ZoneRules& rules, Index segment) {
  return bounded(segment == 0 ? rules.base_offset_s : rules.transitions[segment - 1].offset_s);
}

std::int64_t segment_begin(const ZoneRules& rules, Index segment) {
  return to_seconds(rules.transitions[segment - 1].at);
}

}  // namespace

base::Result<void> ZoneRules::validate() const {
  if (!is_zone_name(name)) return bad("not the name of a time zone");
  if (transitions.size() > kMaxTransitions) return bad("too many transitions");
  if (std::abs(static_cast<std::int64_t>(base_offset_s)) > kMaxOffset_s)
    return bad("the base offset is more than 26 hours");
  std::int64_t previous_at_s = to_seconds(kMinZoneInstant);
  std::int64_t previous_jump_s = 0;
  std::int64_t previous_offset_s = base_offset_s;
  for (const ZoneTransition& transition : transitions) {
    if (transition.at < kMinZoneInstant || transition.at > base::kMaxInstant)
      return bad("a transition lies outside the years 0 to 9999");
    if (transition.at.ms % 1000 != 0) return bad("a transition is not on a whole second");
    if (std::abs(static_cast<std::int64_t>(transition.offset_s)) > kMaxOffset_s)
      return bad("an offset is more than 26 hours");
    const std::int64_t at_s = to_seconds(transition.at);
    const std::int64_t jump_s = std::abs(transition.offset_s - previous_offset_s);
    if (at_s - previous_at_s <= previous_jump_s + jump_s)
      return bad("transitions are out of order or closer than the clock jumps");
    previous_at_s = at_s;
    previous_jump_s = jump_s;
    previous_offset_s = transition.offset_s;
  }
  return {};
}

std::int32_t ZoneRules::offset_at(base::Instant at) const {
  return static_cast<std::int32_t>(segment_offset(*this, segment_of(*this, to_seconds(at))));
}

LocalSeconds ZoneRules::to_local(base::Instant at) const {
  return {to_seconds(at) + offset_at(at)};
}

LocalSeconds ZoneRules::latest_local(base::Instant at) const {
  const std::int64_t at_s = to_seconds(at);
  Index segment = segment_of(*this, at_s);
  std::int64_t latest = at_s + segment_offset(*this, segment);
  // Before each transition the clock had come to one second short of it. Beyond twice the largest
  // offset back no clock can have been ahead of now.
  while (segment > 0) {
    const std::int64_t end = segment_begin(*this, segment);
    if (end < at_s - 2 * std::int64_t{kMaxOffset_s}) break;
    --segment;
    latest = std::max(latest, end - 1 + segment_offset(*this, segment));
  }
  return {latest};
}

LocalMapping ZoneRules::from_local(LocalSeconds local) const {
  const std::int64_t wanted = std::clamp(local.s, to_seconds(kMinZoneInstant) - kMaxOffset_s,
                                         to_seconds(base::kMaxInstant) + kMaxOffset_s);
  // No segment that ended before this can have reached the local time.
  Index segment = segment_of(*this, wanted - kMaxOffset_s);
  LocalMapping mapping;
  bool found = false;
  for (; segment <= transitions.size(); ++segment) {
    std::int64_t at_s = wanted - segment_offset(*this, segment);
    if (segment < transitions.size() && at_s >= segment_begin(*this, segment + 1)) continue;
    const bool skipped = segment > 0 && at_s < segment_begin(*this, segment);
    if (skipped) at_s = segment_begin(*this, segment);
    const base::Instant at{at_s * 1000};
    if (!found) {
      mapping = {skipped ? LocalMapping::Kind::gap : LocalMapping::Kind::unique, at, at};
      found = true;
      if (skipped) break;
    } else if (!skipped) {
      mapping = {LocalMapping::Kind::ambiguous, mapping.first, at};
      break;
    }
    // A second occurrence would begin before the clock could be further behind.
    if (segment < transitions.size() && segment_begin(*this, segment + 1) > wanted + kMaxOffset_s)
      break;
  }
  return mapping;
}

bool is_zone_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxZoneName) return false;
  if (name.front() == '/' || name.back() == '/') return false;
  if (name.find("//") != std::string_view::npos) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '+' || c == '-' || c == '/';
  });
}

}  // namespace jobbie::model
