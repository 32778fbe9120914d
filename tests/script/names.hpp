// What a script calls things: names for ids, relative times, zones. Reading and printing both go
// through here, so a trace never shows an id or a number of milliseconds since 1970.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/id.hpp"
#include "base/time.hpp"
#include "model/zone_rules.hpp"
#include "script/line.hpp"

namespace jobbie::script {

/// Where a script's clock begins: 2026-01-01T00:00:00Z, a Thursday.
inline constexpr base::Instant kBase{1'767'225'600'000};

/// The queue that a script means when it names none.
inline constexpr std::string_view kQueue = "q";

class Names {
 public:
  void bind(const std::string& name, base::JobId id);
  void bind(const std::string& name, base::BatchId id);
  void bind(const std::string& name, base::ScheduleId id);

  /// `nil` is the nil id, `unknown` an id that was never given out, `fake:a` the id of a but for
  /// its random bits; also the id's own text. A name that is not bound is the script's mistake.
  [[nodiscard]] base::JobId job(const Line& line, const std::string& name) const;
  [[nodiscard]] base::BatchId batch(const Line& line, const std::string& name) const;
  [[nodiscard]] base::ScheduleId schedule(const Line& line, const std::string& name) const;

  /// The name it was first bound to, `nil`, or `?` and the sequence number.
  [[nodiscard]] std::string of(base::JobId id) const;
  [[nodiscard]] std::string of(base::BatchId id) const;
  [[nodiscard]] std::string of(base::ScheduleId id) const;
  [[nodiscard]] bool knows(base::JobId id) const { return job_names_.contains(id); }
  /// `text` with the text of every known id replaced by its name.
  [[nodiscard]] std::string in_text(std::string text) const;

  /// `5s` after the base, `+5s` after now, `2026-03-29T01:00:00Z`, `never`, `none` (zero), `ms:-1`.
  [[nodiscard]] base::Instant instant(const Line& line, const std::string& text,
                                      base::Instant now) const;
  /// Relative to the base (`5s`, `-1ms`, `never`), or by the clock that `times` chose.
  [[nodiscard]] std::string show(base::Instant at) const;

  void define_zone(const Line& line);
  void show_times_in(const std::optional<std::string>& zone, const Line& line);
  [[nodiscard]] const model::ZoneRules& zone(const Line& line, const std::string& name) const;

 private:
  std::map<std::string, base::JobId> jobs_;
  std::map<base::JobId, std::string> job_names_;
  std::map<std::string, base::BatchId> batches_;
  std::map<base::BatchId, std::string> batch_names_;
  std::map<std::string, base::ScheduleId> schedules_;
  std::map<base::ScheduleId, std::string> schedule_names_;
  std::map<std::string, model::ZoneRules> zones_{{"UTC", model::ZoneRules{}}};
  std::optional<std::string> times_;
};

}  // namespace jobbie::script
