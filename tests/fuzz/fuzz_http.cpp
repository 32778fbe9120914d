// A conversation, and how it is cut into pieces: the HTTP parser says the same of it whole, byte by
// byte and in those pieces, and every view that it gives lies within the request.
//
// The first byte chooses the limits, the second seeds the lengths of the pieces.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "base/url.hpp"
#include "http/percent.hpp"
#include "http/transcript.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace jobbie::http;
  if (size < 2) return 0;
  Limits limits;
  if ((data[0] & 1) != 0) limits.header_bytes = 64;
  if ((data[0] & 2) != 0) limits.target_bytes = 16;
  limits.body_bytes = (data[0] & 4) != 0 ? 8 : 4096;
  std::uint32_t state = data[1];
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);

  const auto whole = transcript(input, limits, [](std::size_t left) { return left; });
  const auto bytes = transcript(input, limits, [](std::size_t) { return std::size_t{1}; });
  const auto pieces = transcript(input, limits, [&state](std::size_t) -> std::size_t {
    state = state * 1664525 + 1013904223;
    return 1 + (state >> 16) % 61;
  });
  JOBBIE_CHECK(whole == bytes);
  JOBBIE_CHECK(whole == pieces);

  if (const auto decoded = percent_decode(input))
    JOBBIE_CHECK(percent_decode(jobbie::base::percent_encode(*decoded)) ==
                 (decoded->find('\0') == std::string::npos ? decoded : std::nullopt));
  static_cast<void>(query_parameters(input));
  return 0;
}
