// A schedule as a caller asks for it, read from a request. Private to the folder.
#pragma once

#include <cstdint>
#include <expected>
#include <string_view>

#include "base/time.hpp"
#include "face/body.hpp"
#include "face/native/job_reader.hpp"
#include "face/problem.hpp"
#include "model/records.hpp"

namespace jobbie::face::native {

/// The rules of a zone for as long as a schedule made at `now` may want them.
[[nodiscard]] std::expected<model::ZoneRules, Problem> zone_rules(std::string_view name,
                                                                  base::Instant now);

/// Reads `name`, `cron`, `timezone`, `catch_up`, `paused` and the fields of the job that each run
/// enqueues. The zone's rules are filled in.
class ScheduleReader {
 public:
  ScheduleReader(Body& body, std::size_t max_payload_bytes)
      : body_(body), jobs_(body, max_payload_bytes, {}) {}

  [[nodiscard]] bool read(model::ScheduleSpec& spec, base::Instant now);

  /// The same of some fields; `fields` says which. Null gives one its default again.
  [[nodiscard]] bool read_part(model::ScheduleSpec& spec, std::uint64_t& fields, base::Instant now);

 private:
  bool read_member(std::size_t field, model::ScheduleSpec& spec);
  bool read_given(std::size_t field, model::ScheduleSpec& spec, std::uint64_t& fields);
  bool read_zone(model::ScheduleSpec& spec, base::Instant now);

  Body& body_;
  JobReader jobs_;
  base::Blob zone_;
};

}  // namespace jobbie::face::native
