// An expression and a payload, parted by a newline: parsing and asking end, whatever they are
// given, and an expression means the same twice. Of valid payloads, the quick look at the bytes
// rules out none that the walk finds.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "base/json.hpp"
#include "search/filter.hpp"
#include "search/jq.hpp"

namespace {

using namespace jobbie;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t newline = input.find('\n');
  const std::string_view expression = input.substr(0, newline);
  const std::string_view payload =
      newline == std::string_view::npos ? std::string_view{} : input.substr(newline + 1);

  search::UnlimitedBudget budget;
  const auto jq = search::Jq::parse(expression);
  if (!jq) {
    JOBBIE_CHECK(jq.error().code == search::kBadJq);
    JOBBIE_CHECK(jq.error().position <= expression.size());
  } else {
    JOBBIE_CHECK(jq->nodes().size() <= search::kMaxJqNodes);
    const bool matches = jq->matches(payload, budget);
    const bool walked = jq->walk_matches(payload, budget);
    if (base::json::is_valid(payload)) JOBBIE_CHECK(matches == walked);
    const auto negated = search::Jq::parse("(" + std::string(expression) + ") | not");
    // Both are false where the expression has no value.
    if (negated && matches) JOBBIE_CHECK(!negated->matches(payload, budget));
  }
  static_cast<void>(search::read_request(payload));
  return 0;
}
