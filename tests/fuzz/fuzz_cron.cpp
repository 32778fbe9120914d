// A cron expression, then bytes for an instant and for zone rules. Runs must be strictly ascending
// whole seconds, each must be due, and none may be missing between two of them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "model/cron.hpp"

namespace {

using namespace jobbie;
using base::Instant;
using model::CronExpr;
using model::LocalSeconds;
using model::ZoneRules;

constexpr std::int64_t kScan_s = 2 * 3600;
constexpr int kRuns = 8;

// Takes little-endian numbers off the front; zero when the bytes have run out.
std::uint64_t take(std::string_view& bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count && !bytes.empty(); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[0])} << (8 * i);
    bytes.remove_prefix(1);
  }
  return value;
}

ZoneRules take_rules(std::string_view bytes, Instant start) {
  ZoneRules rules{.name = "Fuzz/Zone",
                  .base_offset_s = static_cast<std::int16_t>(take(bytes, 2)) * 4};
  std::int64_t at_s = start.ms / 1000 - 20'000;
  while (!bytes.empty() && rules.transitions.size() < 16) {
    at_s += static_cast<std::int64_t>(take(bytes, 2)) * 4;
    rules.transitions.push_back(
        {Instant{at_s * 1000}, static_cast<std::int16_t>(take(bytes, 2)) * 4});
  }
  return rules;
}

// Whether the clock, at `at`, for the first time reaches or passes a local time that matches. Uses
// only the offset and matches(), second by second.
bool is_due(const CronExpr& cron, const ZoneRules& zone, Instant at) {
  const std::int64_t shown = zone.to_local(at).s;
  const std::int64_t before = zone.latest_local(Instant{at.ms - 1000}).s;
  for (std::int64_t local = before + 1; local <= shown; ++local)
    if (cron.matches({local})) return true;
  return false;
}

void check_runs(const CronExpr& cron, const ZoneRules& zone, Instant after) {
  for (int i = 0; i < kRuns; ++i) {
    const auto run = cron.next_after(after, zone);
    if (!run) return;
    JOBBIE_CHECK(*run > after);
    JOBBIE_CHECK(run->ms % 1000 == 0);
    JOBBIE_CHECK(is_due(cron, zone, *run));
    if (i == 0 && (*run - after).ms / 1000 <= kScan_s) {
      std::int64_t first_ms = after.ms - ((after.ms % 1000) + 1000) % 1000 + 1000;
      for (; first_ms < run->ms; first_ms += 1000)
        JOBBIE_CHECK(!is_due(cron, zone, Instant{first_ms}));
    }
    after = *run;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t newline = bytes.find('\n');
  const std::string_view text = bytes.substr(0, newline);
  bytes.remove_prefix(newline == std::string_view::npos ? bytes.size() : newline + 1);

  const auto cron = CronExpr::parse(text);
  if (!cron) {
    JOBBIE_CHECK(cron.error().code == model::kBadCron);
    JOBBIE_CHECK(cron.error().position <= text.size());
    return 0;
  }
  const auto again = CronExpr::parse(cron->text());
  JOBBIE_CHECK(again && *again == *cron);

  // Unchecked rules and any instant at all: must come to an end without harm.
  const Instant anywhere{static_cast<std::int64_t>(take(bytes, 8))};
  const Instant near{anywhere.ms % 250'000'000'000'000};
  const ZoneRules zone = take_rules(bytes, near);
  (void)cron->next_runs(anywhere, zone, kRuns);
  (void)cron->next_runs(near, zone, kRuns);
  (void)cron->matches(LocalSeconds{anywhere.ms});
  if (near < model::kMinZoneInstant || !zone.validate()) return 0;
  JOBBIE_CHECK(cron->next_after(near, ZoneRules{}) || near.ms > 253'000'000'000'000);
  check_runs(*cron, zone, near);
  return 0;
}
