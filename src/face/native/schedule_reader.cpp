// The fields of a schedule stand before those of its job.
#include "face/native/schedule_reader.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "face/native/words.hpp"
#include "model/schedule_fields.hpp"
#include "zone/load_zone.hpp"

namespace jobbie::face::native {
namespace {

constexpr std::array<std::string_view, 5> kOwnFields = {"name", "cron", "timezone", "catch_up",
                                                        "paused"};

consteval auto schedule_field_names() {
  std::array<std::string_view, kOwnFields.size() + kJobFieldNames.size()> names{};
  std::copy(kOwnFields.begin(), kOwnFields.end(), names.begin());
  std::copy(kJobFieldNames.begin(), kJobFieldNames.end(), names.begin() + kOwnFields.size());
  return names;
}

constexpr Fields kScheduleFields(schedule_field_names());

using model::ScheduleField;

/// What each of the fields sets; nothing: it cannot be given.
constexpr std::array<std::optional<ScheduleField>, kOwnFields.size() + kJobFieldNames.size()>
    kParts = {ScheduleField::name,
              ScheduleField::cron,
              ScheduleField::zone,
              ScheduleField::catch_up,
              ScheduleField::paused,
              ScheduleField::queue,
              ScheduleField::payload,
              ScheduleField::priority,
              ScheduleField::max_retries,
              ScheduleField::unique_key,
              ScheduleField::unique_period,
              ScheduleField::unique_until,
              ScheduleField::tags,
              std::nullopt,  // scheduled_at
              ScheduleField::expire_after,
              ScheduleField::retry_backoff,
              ScheduleField::retry_base_delay,
              ScheduleField::retry_max_delay,
              ScheduleField::retry_jitter,
              ScheduleField::lease,
              ScheduleField::max_runtime,
              ScheduleField::timeout,
              ScheduleField::timeout,  // timeout_ms
              ScheduleField::group,
              ScheduleField::roles,
              ScheduleField::required_tags,
              ScheduleField::target_worker,
              std::nullopt,  // depends_on
              ScheduleField::on_failure,
              ScheduleField::traceparent,
              std::nullopt};  // delay

/// The search for a run looks 40 years ahead, and rules are read again when a schedule is changed.
constexpr base::Duration kZoneBefore = base::days(366);
constexpr base::Duration kZoneAfter = base::days(366 * 50);

}  // namespace

std::expected<model::ZoneRules, Problem> zone_rules(std::string_view name, base::Instant now) {
  auto rules = zone::load_zone(name, now - kZoneBefore, now + kZoneAfter);
  if (rules) return *std::move(rules);
  if (rules.error().code == zone::kUnknownZone)
    return std::unexpected(Problem{.status = 422,
                                   .code = "invalid",
                                   .detail =
                                       "timezone must be the name of an IANA time zone, such as "
                                       "America/New_York; names are case-sensitive.",
                                   .field = "timezone"});
  return std::unexpected(Problem{.status = 500,
                                 .code = "zone_data_error",
                                 .detail = "The server's time zone data (tzdata) cannot be read: " +
                                           rules.error().message + ".",
                                 .field = "timezone"});
}

bool ScheduleReader::read(model::ScheduleSpec& spec, base::Instant now) {
  constexpr auto kNulls = kPayloadMayBeNull << kOwnFields.size();
  const auto member = [&](std::size_t i) { return read_member(i, spec); };
  if (!body_.object(kScheduleFields, member, kNulls)) return false;
  if (spec.name.empty()) return body_.refuse_missing("name");
  if (spec.cron.empty()) return body_.refuse_missing("cron");
  return jobs_.complete(spec.job) && read_zone(spec, now);
}

bool ScheduleReader::read_part(model::ScheduleSpec& spec, std::uint64_t& fields,
                               base::Instant now) {
  constexpr auto kAll = ~std::uint64_t{0};
  const auto member = [&](std::size_t i) { return read_given(i, spec, fields); };
  if (!body_.object(kScheduleFields, member, kAll)) return false;
  const bool zoned = (fields & bit_of(ScheduleField::zone)) != 0;
  return !zoned || read_zone(spec, now);
}

bool ScheduleReader::read_zone(model::ScheduleSpec& spec, base::Instant now) {
  auto rules = zone_rules(zone_ ? zone_.view() : "UTC", now);
  if (!rules) return body_.refuse(std::move(rules).error());
  spec.zone = *std::move(rules);
  return true;
}

bool ScheduleReader::read_given(std::size_t field, model::ScheduleSpec& spec,
                                std::uint64_t& fields) {
  const auto part = kParts[field];
  if (!part) return read_member(field, spec);  // which refuses it
  const bool null = body_.reader().peek() == base::json::Kind::null;
  fields |= bit_of(*part);
  if (!null || part == ScheduleField::payload) return read_member(field, spec);
  const bool required =
      part == ScheduleField::name || part == ScheduleField::cron || part == ScheduleField::queue;
  return required ? body_.refuse_value("cannot be null") : body_.reader().null();
}

bool ScheduleReader::read_member(std::size_t field, model::ScheduleSpec& spec) {
  switch (field) {
    case 0:
      return body_.text(spec.name);
    case 1:
      return body_.text(spec.cron);
    case 2:
      return body_.text(zone_);
    case 3:
      return body_.choice(spec.catch_up, kCatchUpNames);
    case 4:
      return body_.boolean(spec.paused);
    default:
      break;
  }
  const auto name = kScheduleFields.name(field);
  if (name == "scheduled_at" || name == "delay" || name == "depends_on")
    return body_.refuse_value("cannot be given for the job of a schedule");
  return jobs_.read_member(field - kOwnFields.size(), spec.job);
}

}  // namespace jobbie::face::native
