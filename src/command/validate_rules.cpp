// The sentences that tell a person what is wrong with a value.
#include "command/validate_rules.hpp"

#include <utility>

#include <fmt/format.h>

namespace jobbie::command::rules {
namespace {

std::string sentence(const Fault& fault) {
  const std::string_view field = fault.field;
  const auto bound = fault.bound;
  switch (fault.problem) {
    case Problem::none:
      break;
    case Problem::empty:
      return fmt::format("{} must not be empty.", field);
    case Problem::too_long:
      return fmt::format("{} is longer than {} bytes.", field, bound);
    case Problem::too_many:
      return fmt::format("{} has more than {} elements.", field, bound);
    case Problem::control_character:
      return fmt::format("{} contains a control character.", field);
    case Problem::bad_queue_name:
      return fmt::format("{} may only consist of A-Z a-z 0-9 . _ - : and /.", field);
    case Problem::bad_queue_pattern:
      return fmt::format("{} may only consist of A-Z a-z 0-9 . _ - : / and the wildcards * and ?.",
                         field);
    case Problem::not_an_object:
      return fmt::format("{} must be a JSON object.", field);
    case Problem::duration_range:
      return fmt::format("{} must be between zero and 100 years.", field);
    case Problem::instant_range:
      return fmt::format("{} must be between the years 1970 and 9999.", field);
    case Problem::too_short:
      return fmt::format("{} must be at least {} milliseconds.", field, bound);
    case Problem::too_large:
      return fmt::format("{} must be at most {}.", field, bound);
    case Problem::too_small:
      return fmt::format("{} must be at least {}.", field, bound);
    case Problem::unknown_value:
      return fmt::format("{} has a value that does not exist.", field);
    case Problem::needs_key:
      return fmt::format("{} means nothing without a unique_key.", field);
    case Problem::needs_period:
      return fmt::format("{} must be given and above zero when unique_until is \"period\".", field);
    case Problem::bad_per:
      return fmt::format("{} must be \"group\" or \"tags.\" and the name of a tag.", field);
    case Problem::nil_id:
      return fmt::format("{} names nothing.", field);
    case Problem::not_in_request:
      return fmt::format("{} may name jobs by position only in a request of several jobs.", field);
    case Problem::index_range:
      return fmt::format("{} names a position beyond the request's {} jobs.", field, bound);
    case Problem::not_in_schedule:
      return fmt::format("{} cannot be given for the job of a schedule.", field);
    case Problem::two_times:
      return fmt::format("{} and scheduled_at exclude one another.", field);
  }
  return {};
}

}  // namespace

Refusal refusal(std::string field, std::string message) {
  return {.code = Refused::invalid, .field = std::move(field), .message = std::move(message)};
}

std::optional<Refusal> refuse(const Fault& fault, std::string_view prefix) {
  if (!fault) [[likely]]
    return std::nullopt;
  return refusal(fmt::format("{}{}", prefix, fault.field), sentence(fault));
}

}  // namespace jobbie::command::rules
