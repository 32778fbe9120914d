// ULID text in Crockford's base32, as the ULID specification lays it out.
#include "base/id.hpp"

namespace jobbie::base {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

constexpr std::array<std::int8_t, 256> make_values() {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
  return values;
}
constexpr auto kValues = make_values();

}  // namespace

std::optional<Ulid> Ulid::parse(std::string_view text) {
  if (text.size() != kTextLength || text[0] > '7') return std::nullopt;
  Ulid out;
  for (const char c : text) {
    const auto value = kValues[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    out.high = (out.high << 5) | (out.low >> 59);
    out.low = (out.low << 5) | static_cast<std::uint64_t>(value);
  }
  return out;
}

std::array<char, Ulid::kTextLength> Ulid::text() const {
  std::array<char, kTextLength> out{};
  Ulid rest = *this;
  for (std::size_t i = kTextLength; i-- > 0;) {
    out[i] = kDigits[rest.low & 31];
    rest.low = (rest.low >> 5) | (rest.high << 59);
    rest.high >>= 5;
  }
  return out;
}

}  // namespace jobbie::base
