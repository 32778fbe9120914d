// Any bytes as a compiled zone file, and as the rule in its footer.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "zone/posix_tz.hpp"
#include "zone/tzif.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace jobbie::zone;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::string_view rule_text = bytes;
  const auto tzif = decode_tzif(bytes);
  if (tzif) {
    rule_text = tzif->footer;
    for (std::size_t i = 1; i < tzif->changes.size(); ++i)
      JOBBIE_CHECK(tzif->changes[i - 1].at_s < tzif->changes[i].at_s);
  }
  const auto rule = parse_posix_tz(rule_text);
  if (!rule || !rule->summer) return 0;
  for (const int year : {-1, 1970, 2028, 9999}) {
    const auto changes = rule->changes_in(year);
    JOBBIE_CHECK(changes[0].at_s <= changes[1].at_s);
  }
  return 0;
}
