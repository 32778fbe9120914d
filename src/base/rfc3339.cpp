// Reading and writing RFC 3339; the calendar is the proleptic Gregorian one.
#include "base/rfc3339.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace jobbie::base {
namespace {

constexpr Instant kYear0{-62'167'219'200'000};
constexpr std::int64_t kDay_ms = 86'400'000;
constexpr std::int64_t kMaxOffset_minutes = 24 * 60;

/// Days from 1970-01-01; years are counted from March, so that the leap day is a year's last.
constexpr std::int64_t days_from_date(std::int64_t year, int month, int day) {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}
static_assert(days_from_date(1970, 1, 1) == 0 && days_from_date(2000, 3, 1) == 11'017);

struct Date {
  std::int64_t year;
  std::int64_t month;
  std::int64_t day;
};

constexpr Date date_from_days(std::int64_t days) {
  days += 719'468;
  const std::int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const std::int64_t of_era = days - era * 146'097;
  const std::int64_t year = (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  const std::int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const std::int64_t shifted = (5 * of_year + 2) / 153;
  const std::int64_t month = shifted + (shifted < 10 ? 3 : -9);
  return {year + era * 400 + (month <= 2 ? 1 : 0), month, of_year - (153 * shifted + 2) / 5 + 1};
}

constexpr int days_in_month(std::int64_t year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

/// Walks over the text; after the first mismatch `ok` stays false.
struct TimeText {
  std::string_view text;
  std::size_t at = 0;
  bool ok = true;

  [[nodiscard]] char next() const { return at < text.size() ? text[at] : '\0'; }
  [[nodiscard]] bool digit() const { return next() >= '0' && next() <= '9'; }
  int digits(int count) {
    int value = 0;
    for (int i = 0; i < count; ++i) {
      if (!ok || !digit()) {
        ok = false;
        return 0;
      }
      value = value * 10 + (text[at++] - '0');
    }
    return value;
  }
  void any_of(std::string_view characters) {
    ok = ok && at < text.size() && characters.find(text[at]) != std::string_view::npos;
    if (ok) ++at;
  }
};

std::unexpected<Error> bad_instant(std::string message, std::size_t position) {
  return std::unexpected(Error{std::string(kBadInstant), std::move(message), position});
}

std::int64_t read_fraction_ms(TimeText& in) {
  if (in.next() != '.') return 0;
  ++in.at;
  if (!in.digit()) in.ok = false;
  std::int64_t ms = 0;
  for (std::int64_t unit = 100; in.digit(); unit /= 10) ms += (in.text[in.at++] - '0') * unit;
  return ms;
}

/// Minutes east of UTC.
std::int64_t read_offset(TimeText& in) {
  const char sign = in.next();
  in.any_of("Zz+-");
  if (!in.ok || sign == 'Z' || sign == 'z') return 0;
  const int hours = in.digits(2);
  in.any_of(":");
  const int minutes = in.digits(2);
  if (minutes > 59) in.ok = false;
  const std::int64_t offset = hours * 60 + minutes;
  if (offset > kMaxOffset_minutes) in.ok = false;
  return sign == '-' ? -offset : offset;
}

}  // namespace

Result<Instant> parse_rfc3339(std::string_view text) {
  constexpr const char* kShape = "expected a time such as 2026-02-11T10:00:15Z";
  if (text.size() > kMaxInstantText) return bad_instant(kShape, 0);
  TimeText in{.text = text};
  const int year = in.digits(4);
  in.any_of("-");
  const int month = in.digits(2);
  in.any_of("-");
  const int day = in.digits(2);
  in.any_of("Tt ");
  const int hour = in.digits(2);
  in.any_of(":");
  const int minute = in.digits(2);
  in.any_of(":");
  const int second = in.digits(2);
  if (!in.ok) return bad_instant(kShape, in.at);
  const std::int64_t fraction_ms = read_fraction_ms(in);
  if (in.at == text.size()) return bad_instant("the time needs a zone: Z or an offset", in.at);
  const std::int64_t offset_minutes = read_offset(in);
  if (!in.ok || in.at != text.size()) return bad_instant(kShape, in.at);
  if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
    return bad_instant("there is no such day", 0);
  if (hour > 23 || minute > 59 || second > 60) return bad_instant("there is no such time", 0);

  const std::int64_t time_ms =
      ((hour * 60LL + minute - offset_minutes) * 60 + second) * 1000 + fraction_ms;
  const Instant at{days_from_date(year, month, day) * kDay_ms + time_ms};
  if (at < kYear0 || at > kMaxInstant) return bad_instant("the year must be 0000 to 9999", 0);
  return at;
}

void append_rfc3339(std::string& out, Instant at) {
  const std::int64_t ms = std::clamp(at, kYear0, kMaxInstant).ms;
  const std::int64_t days = (ms >= 0 ? ms : ms - (kDay_ms - 1)) / kDay_ms;
  const std::int64_t of_day = ms - days * kDay_ms;
  const Date date = date_from_days(days);
  std::array<char, 24> shape = {'0', '0', '0', '0', '-', '0', '0', '-', '0', '0', 'T', '0',
                                '0', ':', '0', '0', ':', '0', '0', '.', '0', '0', '0', 'Z'};
  const auto put = [&shape](std::size_t last, int count, std::int64_t value) {
    for (int i = 0; i < count; ++i, value /= 10)
      shape[last - static_cast<std::size_t>(i)] = static_cast<char>('0' + value % 10);
  };
  put(3, 4, date.year);
  put(6, 2, date.month);
  put(9, 2, date.day);
  put(12, 2, of_day / 3'600'000);
  put(15, 2, of_day / 60'000 % 60);
  put(18, 2, of_day / 1000 % 60);
  put(22, 3, of_day % 1000);
  out.append(shape.data(), shape.size());
}

std::string format_rfc3339(Instant at) {
  std::string out;
  append_rfc3339(out, at);
  return out;
}

}  // namespace jobbie::base
