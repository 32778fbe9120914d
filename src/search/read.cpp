// Filters as callers write them: JSON, or the parameters of a query string.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.hpp"
#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "base/rfc3339.hpp"
#include "model/error_pattern.hpp"
#include "model/limits.hpp"
#include "search/filter.hpp"
#include "search/json_scan.hpp"

namespace jobbie::search {
namespace {

enum class Field : std::uint8_t {
  queue,
  state,
  priority,
  tags,
  payload_contains,
  payload_jq,
  created_after,
  created_before,
  scheduled_after,
  scheduled_before,
  started_after,
  started_before,
  completed_after,
  completed_before,
  failed_after,
  failed_before,
  expire_after,
  expire_before,
  worker_id,
  has_errors,
  error_contains,
  error_group,
  batch_id,
  schedule_id,
  group,
  unique_key,
  attempt_min,
  attempt_max,
  job_id_prefix,
  ids,
  sort,
  order,
  cursor,
  limit,
};
constexpr std::array<std::string_view, 34> kNames = {"queue",
                                                     "state",
                                                     "priority",
                                                     "tags",
                                                     "payload_contains",
                                                     "payload_jq",
                                                     "created_after",
                                                     "created_before",
                                                     "scheduled_after",
                                                     "scheduled_before",
                                                     "started_after",
                                                     "started_before",
                                                     "completed_after",
                                                     "completed_before",
                                                     "failed_after",
                                                     "failed_before",
                                                     "expire_after",
                                                     "expire_before",
                                                     "worker_id",
                                                     "has_errors",
                                                     "error_contains",
                                                     "error_group",
                                                     "batch_id",
                                                     "schedule_id",
                                                     "group",
                                                     "unique_key",
                                                     "attempt_min",
                                                     "attempt_max",
                                                     "job_id_prefix",
                                                     "ids",
                                                     "sort",
                                                     "order",
                                                     "cursor",
                                                     "limit"};
constexpr std::size_t kFilterNames = static_cast<std::size_t>(Field::sort);

constexpr std::array<std::string_view, 3> kPriorities = {"critical", "high", "normal"};

/// Text in, values out; the first fault ends it.
class Reading {
 public:
  bool from_json(std::string_view json, std::size_t names);
  bool from_parameters(const Parameters& parameters);

  /// What can only be said once everything is read.
  bool finish() {
    if (out_.filter.error_group) keep_failed_states();
    if (!cursor_) return true;
    out_.after = read_cursor(*cursor_, out_);
    field_ = Field::cursor;
    return out_.after || refuse("bad_cursor", "belongs to another search, or was not made here");
  }

  Request out_;
  Fault fault_;

 private:
  bool fail(std::string code, std::string message) {
    fault_ = {.code = std::move(code), .field = std::string(name()), .message = std::move(message)};
    return false;
  }
  bool refuse(std::string code, std::string_view rest) {
    return fail(std::move(code), fmt::format("{} {}.", name(), rest));
  }
  bool refuse_value(std::string_view rest) { return refuse("invalid", rest); }
  /// Groups of errors are made of jobs that are dead or to be tried again.
  void keep_failed_states() {
    auto& states = out_.filter.states;
    if (states.empty()) states = {model::State::dead, model::State::retrying};
    std::erase_if(states, [](model::State state) {
      return state != model::State::dead && state != model::State::retrying;
    });
    if (states.empty()) out_.filter.nothing = true;
  }
  [[nodiscard]] std::string_view name() const { return kNames[static_cast<std::size_t>(field_)]; }

  /// A cursor goes with the filter that it was given for: everything in it is added up here.
  void note(std::string_view text) {
    if (field_ >= Field::sort) return;
    out_.filter_hash += base::hash_bytes(text, static_cast<std::uint64_t>(field_) + 1);
  }

  bool value(base::json::Reader& reader);
  bool text_value(std::string_view text);
  bool texts_value(std::string_view text);
  bool tags(base::json::Reader& reader);
  bool list(base::json::Reader& reader);
  bool expect(base::json::Reader& reader, JsonKind kind);
  bool number_value(std::string_view raw);
  bool state(std::string_view text);
  bool id(std::string_view text);
  bool jq(std::string_view text);
  bool instant(std::string_view text);
  bool queue(std::string_view text);
  bool keep(std::string& out, std::string_view text);
  template <typename Id>
  bool parse_id(std::optional<Id>& out, std::string_view text);
  template <std::size_t N>
  bool choice(std::size_t& out, const std::string_view (&names)[N], std::string_view text);
  base::Instant* moment();

  Field field_ = Field::queue;
  std::optional<std::string> cursor_;
};

bool Reading::keep(std::string& out, std::string_view text) {
  if (text.empty()) return refuse_value("must not be empty");
  if (text.size() > kMaxText) return refuse_value(fmt::format("has more than {} bytes", kMaxText));
  out = text;
  return true;
}

bool Reading::state(std::string_view text) {
  for (std::size_t i = 0; i < model::kStates; ++i) {
    const auto state = static_cast<model::State>(i);
    if (text != model::to_string(state)) continue;
    auto& states = out_.filter.states;
    if (std::find(states.begin(), states.end(), state) == states.end()) states.push_back(state);
    return true;
  }
  return refuse_value(
      "must be one of scheduled, waiting, pending, active, retrying, completed, dead, cancelled");
}

bool Reading::id(std::string_view text) {
  if (text.empty()) return refuse_value("must not name a job by an empty text");
  if (!out_.filter.ids) out_.filter.ids.emplace();
  // A text that is no id names no job.
  if (const auto id = base::JobId::parse(text)) out_.filter.ids->push_back(*id);
  return true;
}

bool Reading::jq(std::string_view text) {
  auto parsed = Jq::parse(text);
  if (!parsed) {
    fail(parsed.error().code, fmt::format("payload_jq: {} (character {}).", parsed.error().message,
                                          parsed.error().position));
    fault_.position = parsed.error().position;
    return false;
  }
  out_.filter.payload_jq = *std::move(parsed);
  return true;
}

base::Instant* Reading::moment() {
  Filter& filter = out_.filter;
  const std::array<Period*, 6> periods = {&filter.created,   &filter.scheduled, &filter.started,
                                          &filter.completed, &filter.failed,    &filter.expires};
  const auto at = static_cast<std::size_t>(field_) - static_cast<std::size_t>(Field::created_after);
  Period& period = *periods[at / 2];
  return at % 2 == 0 ? &period.after : &period.before;
}

bool Reading::instant(std::string_view text) {
  const auto parsed = base::parse_rfc3339(text);
  if (!parsed) return refuse_value(fmt::format("is no time: {}", parsed.error().message));
  *moment() = *parsed;
  return true;
}

bool Reading::queue(std::string_view text) {
  constexpr std::string_view kPattern =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:/*?";
  if (text.empty() || text.size() > model::limits::kQueueName ||
      text.find_first_not_of(kPattern) != text.npos)
    return refuse_value("must be a queue's name or a pattern of such names");
  out_.filter.queue = text;
  return true;
}

template <typename Id>
bool Reading::parse_id(std::optional<Id>& out, std::string_view text) {
  out = Id::parse(text);
  if (!out) out_.filter.nothing = true;  // a text that is no id names nothing
  return true;
}

template <std::size_t N>
bool Reading::choice(std::size_t& out, const std::string_view (&names)[N], std::string_view text) {
  const auto found = std::find(std::begin(names), std::end(names), text);
  if (found == std::end(names))
    return refuse_value(fmt::format("must be one of {}", fmt::join(names, ", ")));
  out = static_cast<std::size_t>(found - std::begin(names));
  return true;
}

/// A string in JSON, or a parameter.
bool Reading::text_value(std::string_view text) {
  note(text);
  Filter& filter = out_.filter;
  switch (field_) {
    case Field::queue:
      return queue(text);
    case Field::state:
      return state(text);
    case Field::payload_contains:
      return keep(filter.payload_contains, text);
    case Field::payload_jq:
      return jq(text);
    case Field::worker_id:
      return keep(filter.worker, text);
    case Field::error_contains:
      return keep(filter.error_contains, text);
    case Field::error_group:
      filter.error_group = model::parse_fingerprint(text);
      return filter.error_group || refuse_value("must be 16 hexadecimal digits, as /errors has it");
    case Field::batch_id:
      return parse_id(filter.batch, text);
    case Field::schedule_id:
      return parse_id(filter.schedule, text);
    case Field::group:
      return keep(filter.group, text);
    case Field::unique_key:
      return keep(filter.unique_key, text);
    case Field::ids:
      return id(text);
    case Field::cursor:
      cursor_ = text;
      return true;
    default:
      return texts_value(text);
  }
}

bool Reading::texts_value(std::string_view text) {
  std::size_t chosen = 0;
  switch (field_) {
    case Field::priority: {
      const auto found = std::find(kPriorities.begin(), kPriorities.end(), text);
      if (found == kPriorities.end())
        return refuse_value("must be critical, high, normal or a whole number");
      out_.filter.priority = static_cast<std::int32_t>(found - kPriorities.begin());
      return true;
    }
    case Field::job_id_prefix:
      out_.filter.id_range = ids_beginning_with(text);
      if (!out_.filter.id_range) out_.filter.nothing = true;
      return true;
    case Field::sort:
      if (!choice(chosen, kSortNames, text)) return false;
      out_.sort = static_cast<Sort>(chosen);
      return true;
    case Field::order:
      if (!choice(chosen, kOrderNames, text)) return false;
      out_.order = static_cast<Order>(chosen);
      return true;
    default:
      return instant(text);
  }
}

bool Reading::number_value(std::string_view raw) {
  note(raw);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), number);
  const auto between = [&](std::int64_t min, std::int64_t max) {
    if (error == std::errc{} && end == raw.data() + raw.size() && number >= min && number <= max)
      return true;
    return refuse_value(fmt::format("must be a whole number between {} and {}", min, max));
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  switch (field_) {
    case Field::priority:
      if (!between(std::numeric_limits<std::int32_t>::min(),
                   std::numeric_limits<std::int32_t>::max()))
        return false;
      out_.filter.priority = static_cast<std::int32_t>(number);
      return true;
    case Field::attempt_min:
    case Field::attempt_max:
      if (!between(0, kMost)) return false;
      (field_ == Field::attempt_min ? out_.filter.attempt_min : out_.filter.attempt_max) =
          static_cast<std::uint32_t>(number);
      return true;
    default:
      if (!between(1, kMaxLimit)) return false;
      out_.limit = static_cast<std::uint32_t>(number);
      return true;
  }
}

bool is_number(Field field) {
  return field == Field::attempt_min || field == Field::attempt_max || field == Field::limit;
}

bool Reading::expect(base::json::Reader& reader, JsonKind kind) {
  const JsonKind found = reader.peek();
  if (found == kind) return true;
  std::string_view raw;
  if (!reader.value(raw)) return false;  // bad JSON goes before
  return fail("wrong_type", fmt::format("{} must be {}, not {}.", name(),
                                        base::json::to_string(kind), base::json::to_string(found)));
}

bool Reading::tags(base::json::Reader& reader) {
  if (!expect(reader, JsonKind::object) || !reader.begin_object()) return false;
  std::string_view key;
  while (reader.next_member(key)) {
    const std::string tag(key);
    std::string_view raw;
    if (!reader.value(raw)) return false;
    note(fmt::format("{}:{}", base::json::quote(tag), raw));
    if (out_.filter.tags.size() == kMaxTags)
      return refuse_value(fmt::format("has more than {} members", kMaxTags));
    out_.filter.tags.push_back(Jq::member_equals(tag, raw));
    // A tag that is not there equals null as well.
    if (raw == "null") {
      auto has = Jq::parse(fmt::format("has({})", base::json::quote(tag)));
      if (!has)
        return refuse_value(fmt::format("has a name that is too long: {}", tag.substr(0, 32)));
      out_.filter.tags.push_back(*std::move(has));
    }
  }
  return !reader.failed();
}

/// `state` and `ids`.
bool Reading::list(base::json::Reader& reader) {
  if (!reader.begin_array()) return false;
  if (field_ == Field::ids) out_.filter.ids.emplace();
  for (std::size_t i = 0; reader.next_element(); ++i) {
    if (i == kMaxIds) return refuse_value(fmt::format("has more than {} elements", kMaxIds));
    std::string_view text;
    if (!expect(reader, JsonKind::string) || !reader.string(text) || !text_value(text))
      return false;
  }
  if (!reader.failed() && field_ == Field::state && out_.filter.states.empty())
    out_.filter.nothing = true;  // any of no states
  return !reader.failed();
}

bool Reading::value(base::json::Reader& reader) {
  const JsonKind kind = reader.peek();
  if (kind == JsonKind::null) return reader.null();  // not given
  std::string_view text;
  if (field_ == Field::tags) return tags(reader);
  if (field_ == Field::has_errors) {
    bool flag = false;
    if (!expect(reader, JsonKind::boolean) || !reader.boolean(flag)) return false;
    note(flag ? "true" : "false");
    out_.filter.has_errors = flag;
    return true;
  }
  if (is_number(field_) || (field_ == Field::priority && kind == JsonKind::number))
    return expect(reader, JsonKind::number) && reader.number(text) && number_value(text);
  if (kind == JsonKind::array && (field_ == Field::state || field_ == Field::ids))
    return list(reader);
  return expect(reader, field_ == Field::ids ? JsonKind::array : JsonKind::string) &&
         reader.string(text) && text_value(text);
}

bool Reading::from_json(std::string_view json, std::size_t names) {
  base::json::Reader reader(json);
  const auto syntax = [&] {
    if (!fault_.code.empty()) return false;
    using base::json::Fault;
    const char* code = reader.fault() == Fault::bad_utf8   ? "bad_utf8"
                       : reader.fault() == Fault::too_deep ? "too_deep"
                                                           : "bad_json";
    fault_ = {.code = code,
              .field = {},
              .message = fmt::format("The body is not JSON: {} at byte {}.",
                                     base::json::to_string(reader.fault()), reader.position()),
              .position = reader.position()};
    return false;
  };
  if (reader.peek() != JsonKind::object) {
    std::string_view raw;
    if (!reader.value(raw)) return syntax();
    fault_ = {.code = "wrong_type",
              .field = {},
              .message = "The filter must be an object.",
              .position = {}};
    return false;
  }
  if (!reader.begin_object()) return syntax();
  std::uint64_t seen = 0;
  std::string_view name;
  while (reader.next_member(name)) {
    const auto end = kNames.begin() + static_cast<std::ptrdiff_t>(names);
    const auto found = std::find(kNames.begin(), end, name);
    if (found == end) {
      fault_ = {.code = "unknown_field",
                .field = std::string(name.substr(0, 256)),
                .message = fmt::format("There is no field \"{}\" here.", name.substr(0, 256)),
                .position = reader.name_position()};
      return false;
    }
    field_ = static_cast<Field>(found - kNames.begin());
    const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(field_);
    if ((seen & bit) != 0) return refuse("duplicate_field", "is given twice");
    seen |= bit;
    if (!value(reader)) return syntax();
  }
  return (!reader.failed() && reader.finish() && finish()) || syntax();
}

bool Reading::from_parameters(const Parameters& parameters) {
  std::uint64_t seen = 0;
  for (const auto& [name, text] : parameters) {
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) {
      fault_ = {.code = "unknown_field",
                .field = name.substr(0, 256),
                .message = fmt::format("There is no parameter \"{}\" here.", name.substr(0, 256)),
                .position = {}};
      return false;
    }
    field_ = static_cast<Field>(found - kNames.begin());
    const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(field_);
    if ((seen & bit) != 0) return refuse("duplicate_field", "is given twice");
    seen |= bit;
    const bool digits = !text.empty() && text.find_first_not_of("-0123456789") == text.npos;
    bool read = true;
    if (field_ == Field::tags) {
      base::json::Reader reader(text);
      read = (tags(reader) && reader.finish()) ||
             (fault_.code.empty() && refuse_value("must be a JSON object"));
    } else if (field_ == Field::has_errors) {
      if (text != "true" && text != "false") return refuse_value("must be true or false");
      note(text);
      out_.filter.has_errors = text == "true";
    } else if (is_number(field_) || (field_ == Field::priority && digits)) {
      read = number_value(text);
    } else if (field_ == Field::state || field_ == Field::ids) {
      if (std::count(text.begin(), text.end(), ',') >= std::ptrdiff_t{kMaxIds})
        return refuse_value(fmt::format("has more than {} elements", kMaxIds));
      for (std::size_t from = 0; read && from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        read = text_value(std::string_view(text).substr(from, comma - from));
        from = comma + 1;
      }
    } else {
      read = text_value(text);
    }
    if (!read) return false;
  }
  return finish();
}

}  // namespace

Read<Filter> read_filter(std::string_view json) {
  Reading reading;
  if (!reading.from_json(json, kFilterNames)) return std::unexpected(std::move(reading.fault_));
  return std::move(reading.out_.filter);
}

Read<Request> read_request(std::string_view json) {
  Reading reading;
  if (!reading.from_json(json, kNames.size())) return std::unexpected(std::move(reading.fault_));
  return std::move(reading.out_);
}

Read<Request> read_parameters(const Parameters& parameters) {
  Reading reading;
  if (!reading.from_parameters(parameters)) return std::unexpected(std::move(reading.fault_));
  return std::move(reading.out_);
}

std::vector<std::string_view> field_names() { return {kNames.begin(), kNames.end()}; }

}  // namespace jobbie::search
