// Members of answers: values that may be missing become null. Private to the folder.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/blob.hpp"
#include "base/duration.hpp"
#include "base/id.hpp"
#include "base/json_writer.hpp"
#include "base/time.hpp"
#include "model/job.hpp"

namespace jobbie::face::native {

inline void write_text(base::json::Writer& json, std::string_view name, const base::Blob& text) {
  json.member(name);
  if (text)
    json.string(text.view());
  else
    json.null();
}

inline void write_json(base::json::Writer& json, std::string_view name, const base::Blob& value) {
  json.member(name).raw(value ? value.view() : "null");
}

inline void write_instant(base::json::Writer& json, std::string_view name, base::Instant at) {
  json.member(name);
  if (at.ms != 0)
    json.instant(at);
  else
    json.null();
}

/// As text with units; zero means none.
inline void write_duration(base::json::Writer& json, std::string_view name,
                           base::Duration duration) {
  json.member(name);
  if (duration.ms != 0)
    json.plain(base::format_duration(duration));
  else
    json.null();
}

template <typename Id>
void write_id(base::json::Writer& json, std::string_view name, const Id& id) {
  json.member(name);
  if (id.is_nil())
    json.null();
  else
    json.id(id);
}

inline void write_texts(base::json::Writer& json, std::string_view name,
                        const std::vector<base::Blob>& texts) {
  json.member(name).begin_array();
  for (const auto& text : texts) json.string(text.view());
  json.end_array();
}

inline void write_ids(base::json::Writer& json, std::string_view name,
                      const std::vector<base::JobId>& ids) {
  json.member(name).begin_array();
  for (const auto& id : ids) json.id(id);
  json.end_array();
}

template <typename Enum, std::size_t N>
std::string_view word(const std::array<std::string_view, N>& names, Enum value) {
  const auto i = static_cast<std::size_t>(value);
  return i < N ? names[i] : "unknown";
}

/// What the producer asked for, about retries, uniqueness and routing.
void write_policy(base::json::Writer& json, const model::JobSpec& spec);

}  // namespace jobbie::face::native
