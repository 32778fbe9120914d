// The payload that all dialects send, and the choice among them.
#include "bench/load/dialect.hpp"

#include <algorithm>
#include <charconv>

#include "bench/load/dialects.hpp"

namespace jobbie::bench::load {
namespace {

constexpr std::string_view kStampKey = R"("stamp":")";
constexpr std::size_t kStampDigits = 20;

}  // namespace

std::string payload() {
  std::string out = "{";
  out += kStampKey;
  out.append(kStampDigits, '0');
  out += R"(","text":")";
  constexpr std::string_view kEnd = R"("})";
  for (char letter = 'a'; out.size() + kEnd.size() < kPayloadBytes;
       letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1))
    out += letter;
  out += kEnd;
  return out;
}

void write_stamp(std::span<char> bytes, std::uint64_t stamp_ns) {
  const auto at = std::string_view{bytes.data(), bytes.size()}.find(kStampKey);
  if (at == std::string_view::npos) return;
  for (auto i = kStampDigits; i-- > 0; stamp_ns /= 10)
    bytes[at + kStampKey.size() + i] = static_cast<char>('0' + stamp_ns % 10);
}

std::uint64_t read_stamp(std::string_view bytes) {
  const auto at = bytes.find(kStampKey);
  if (at == std::string_view::npos || at + kStampKey.size() + kStampDigits > bytes.size()) return 0;
  const auto digits = bytes.substr(at + kStampKey.size(), kStampDigits);
  std::uint64_t out = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

std::string_view dialect_names() { return "jobbie|beanstalkd|nats|faktory"; }

std::unique_ptr<Dialect> make_dialect(std::string_view name, DialectOptions options) {
  if (name == "jobbie") return make_jobbie_dialect(options);
  if (name == "beanstalkd") return make_beanstalkd_dialect(options);
  if (name == "nats") return make_nats_dialect(options);
  if (name == "faktory") return make_faktory_dialect(options);
  return nullptr;
}

}  // namespace jobbie::bench::load
