// Any text as a duration and as a number of seconds: what is read is in range, is read the same
// again, and survives being formatted.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "base/duration.hpp"

namespace {

using namespace jobbie::base;

void check_value(const Result<Duration>& parsed) {
  if (!parsed) {
    JOBBIE_CHECK(parsed.error().code == kBadDuration || parsed.error().code == kDurationOutOfRange);
    JOBBIE_CHECK(!parsed.error().message.empty());
    return;
  }
  JOBBIE_CHECK(*parsed >= Duration{0} && *parsed <= kMaxDuration);
  const std::string text = format_duration(*parsed);
  const auto again = parse_duration(text);
  JOBBIE_CHECK(again && *again == *parsed);
  JOBBIE_CHECK(format_duration(*again) == text);
}

// The same duration in seconds, as "12.345".
void check_as_seconds(Duration duration) {
  const std::string thousandths = std::to_string(1000 + duration.ms % 1000).substr(1);
  const auto parsed = parse_seconds_number(std::to_string(duration.ms / 1000) + "." + thousandths);
  JOBBIE_CHECK(parsed && *parsed == duration);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto duration = parse_duration(text);
  check_value(duration);
  if (duration) check_as_seconds(*duration);
  const auto seconds = parse_seconds_number(text);
  check_value(seconds);
  // A text is one or the other: units make the difference.
  JOBBIE_CHECK(!duration || !seconds);
  if (!duration) JOBBIE_CHECK(duration.error().position <= text.size());
  if (!seconds) JOBBIE_CHECK(seconds.error().position <= text.size());
  return 0;
}
