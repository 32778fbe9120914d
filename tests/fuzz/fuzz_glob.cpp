// Pattern and text, parted by a newline: the matcher agrees with the recursive definition on short
// inputs, and ends on long ones.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "base/glob.hpp"

namespace {

using namespace jobbie::base;

// The definition takes exponential time, so it is only asked about short inputs.
constexpr std::size_t kShort = 12;

bool reference(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*')
    return reference(pattern.substr(1), text) ||
           (!text.empty() && reference(pattern, text.substr(1)));
  if (text.empty() || (pattern[0] != '?' && pattern[0] != text[0])) return false;
  return reference(pattern.substr(1), text.substr(1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t newline = input.find('\n');
  if (newline == std::string_view::npos) return 0;
  const std::string_view pattern = input.substr(0, newline);
  const std::string_view text = input.substr(newline + 1);

  const bool matches = glob_match(pattern, text);
  if (pattern.size() <= kShort && text.size() <= kShort)
    JOBBIE_CHECK(matches == reference(pattern, text));
  JOBBIE_CHECK(glob_match("*", text));
  JOBBIE_CHECK(glob_match(pattern, pattern));
  if (!is_glob(pattern)) JOBBIE_CHECK(matches == (pattern == text));
  if (matches) {
    JOBBIE_CHECK(glob_match("*" + std::string(pattern), "x" + std::string(text)));
    JOBBIE_CHECK(glob_match(std::string(pattern) + "?", std::string(text) + "x"));
  }
  return 0;
}
