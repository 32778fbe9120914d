// Names, instants and zones of a script.
#include "script/names.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "base/duration.hpp"

namespace jobbie::script {
namespace {

template <typename Id>
void bind_in(std::map<std::string, Id>& by_name, std::map<Id, std::string>& by_id,
             const std::string& name, Id id) {
  by_name[name] = id;
  by_id.emplace(id, name);  // the first name stays
}

template <typename Id>
Id find_in(const std::map<std::string, Id>& by_name, const Line& line, const std::string& name) {
  if (name == "nil") return {};
  if (name == "unknown") return {base::Ulid::make(kBase, 999'999, 7)};
  if (name.starts_with("fake:")) {
    Id id = find_in(by_name, line, name.substr(5));
    id.ulid.low ^= 1;
    return id;
  }
  if (const auto found = by_name.find(name); found != by_name.end()) return found->second;
  if (const auto parsed = Id::parse(name)) return *parsed;
  line.fail("nothing is called " + name);
}

template <typename Id>
std::string name_in(const std::map<Id, std::string>& by_id, Id id) {
  if (id.is_nil()) return "nil";
  if (const auto found = by_id.find(id); found != by_id.end()) return found->second;
  return fmt::format("?{}", id.sequence());
}

template <typename Id>
void replace_in(const std::map<Id, std::string>& by_id, std::string& text) {
  for (const auto& [id, name] : by_id) {
    const auto long_text = id.text();
    for (auto at = text.find(long_text); at != std::string::npos; at = text.find(long_text, at))
      text.replace(at, long_text.size(), name);
  }
}

std::string show_by_clock(base::Instant at, std::int32_t offset_s) {
  using namespace std::chrono;
  const milliseconds local{at.ms + std::int64_t{offset_s} * 1000};
  const auto day = floor<days>(local);
  const year_month_day date{sys_days{day}};
  const hh_mm_ss time{local - day};
  std::string out =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  time.hours().count(), time.minutes().count(), time.seconds().count());
  if (time.subseconds().count() != 0) out += fmt::format(".{:03}", time.subseconds().count());
  if (offset_s == 0) return out + "Z";
  const int minutes = std::abs(offset_s) / 60;
  return out + fmt::format("{}{:02}:{:02}", offset_s < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

base::Instant read_utc(const Line& line, const std::string& text) {
  using namespace std::chrono;
  int y = 0;
  unsigned mo = 0, d = 0, h = 0, mi = 0, s = 0;
  char z = 0;
  const int read = std::sscanf(text.c_str(), "%d-%u-%uT%u:%u:%u%c", &y, &mo, &d, &h, &mi, &s, &z);
  if (read != 7 || z != 'Z') line.fail("not an instant like 2026-03-29T01:00:00Z: " + text);
  const sys_days date{year{y} / month{mo} / day{d}};
  const auto since = date.time_since_epoch() + hours{h} + minutes{mi} + seconds{s};
  return {duration_cast<milliseconds>(since).count()};
}

std::int32_t read_offset(const Line& line, const std::string& text) {
  if (text.empty() || (text[0] != '+' && text[0] != '-')) line.fail("not an offset: " + text);
  const auto length = line.to_duration(text.substr(1)).ms / 1000;
  return static_cast<std::int32_t>(text[0] == '-' ? -length : length);
}

}  // namespace

void Names::bind(const std::string& name, base::JobId id) {
  if (name != "-") bind_in(jobs_, job_names_, name, id);
}
void Names::bind(const std::string& name, base::BatchId id) {
  bind_in(batches_, batch_names_, name, id);
}
void Names::bind(const std::string& name, base::ScheduleId id) {
  bind_in(schedules_, schedule_names_, name, id);
}

base::JobId Names::job(const Line& line, const std::string& name) const {
  return find_in(jobs_, line, name);
}
base::BatchId Names::batch(const Line& line, const std::string& name) const {
  return find_in(batches_, line, name);
}
base::ScheduleId Names::schedule(const Line& line, const std::string& name) const {
  return find_in(schedules_, line, name);
}

std::string Names::of(base::JobId id) const { return name_in(job_names_, id); }
std::string Names::of(base::BatchId id) const { return name_in(batch_names_, id); }
std::string Names::of(base::ScheduleId id) const { return name_in(schedule_names_, id); }

std::string Names::in_text(std::string text) const {
  replace_in(job_names_, text);
  replace_in(batch_names_, text);
  replace_in(schedule_names_, text);
  return text;
}

base::Instant Names::instant(const Line& line, const std::string& text, base::Instant now) const {
  if (text == "never") return base::kNever;
  if (text == "none") return {};
  if (text.starts_with("ms:")) return {line.to_duration(text).ms};
  if (text.find('T') != std::string::npos) return read_utc(line, text);
  if (text.starts_with("+")) return now + line.to_duration(text.substr(1));
  if (text.starts_with("-")) return kBase - line.to_duration(text.substr(1));
  return kBase + line.to_duration(text);
}

std::string Names::show(base::Instant at) const {
  if (at == base::kNever) return "never";
  if (at == base::Instant{}) return "none";
  if (times_) return show_by_clock(at, zones_.at(*times_).offset_at(at));
  return base::format_duration(at - kBase);
}

void Names::define_zone(const Line& line) {
  const auto& name = line.word(1, "the zone's name");
  model::ZoneRules rules{.name = name, .base_offset_s = read_offset(line, line.word(2, "offset"))};
  for (std::size_t i = 3; i + 1 < line.words.size(); i += 2)
    rules.transitions.push_back(
        {read_utc(line, line.words[i]), read_offset(line, line.words[i + 1])});
  line.expect_all_read(line.words.size());
  zones_[name] = rules;
}

void Names::show_times_in(const std::optional<std::string>& zone_name, const Line& line) {
  if (zone_name) static_cast<void>(zone(line, *zone_name));
  times_ = zone_name;
}

const model::ZoneRules& Names::zone(const Line& line, const std::string& name) const {
  const auto found = zones_.find(name);
  if (found == zones_.end()) line.fail("the script defines no zone " + name);
  return found->second;
}

}  // namespace jobbie::script
