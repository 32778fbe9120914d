// The two rare bytes, and the search for them.
#include "search/text_finder.hpp"

#include <bit>
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace jobbie::search {
namespace {

/// From the most frequent on, roughly; what is not here is rare.
constexpr std::string_view kFrequent = "\"e taoinsrlcd:,ump0.1hgf/2b-y_v3w54k6789{}x[]jzq";

/// The higher, the rarer.
std::size_t rarity(char c) {
  const auto at = kFrequent.find(c);
  return at == std::string_view::npos ? kFrequent.size() : at;
}

bool found_plainly(std::string_view text, std::string_view wanted) {
  return memmem(text.data(), text.size(), wanted.data(), wanted.size()) != nullptr;
}

}  // namespace

TextFinder::TextFinder(std::string wanted) : wanted_(std::move(wanted)) {
  for (std::size_t i = 1; i < wanted_.size(); ++i)
    if (rarity(wanted_[i]) > rarity(wanted_[near_])) near_ = i;
  far_ = near_ == 0 && wanted_.size() > 1 ? 1 : 0;
  for (std::size_t i = 0; i < wanted_.size(); ++i)
    if (i != near_ && rarity(wanted_[i]) > rarity(wanted_[far_])) far_ = i;
  if (near_ > far_) std::swap(near_, far_);
}

#if defined(__SSE2__)
namespace {

constexpr std::size_t kPlaces = 16;

/// The places from `at` on, of kPlaces, where the two bytes stand.
inline unsigned places_at(const char* near_at, const char* far_at, __m128i near_byte,
                          __m128i far_byte) {
  __m128i a;
  __m128i b;
  std::memcpy(&a, near_at, sizeof a);
  std::memcpy(&b, far_at, sizeof b);
  return static_cast<unsigned>(
      _mm_movemask_epi8(_mm_and_si128(_mm_cmpeq_epi8(a, near_byte), _mm_cmpeq_epi8(b, far_byte))));
}

}  // namespace

bool TextFinder::in(std::string_view text) const {
  if (wanted_.empty()) return true;
  if (text.size() < wanted_.size()) return false;
  if (text.size() < far_ + kPlaces) return found_plainly(text, wanted_);
  const __m128i near_byte = _mm_set1_epi8(wanted_[near_]);
  const __m128i far_byte = _mm_set1_epi8(wanted_[far_]);
  const char* const last = text.data() + (text.size() - wanted_.size());
  // The last sixteen places overlap those before. Some of them are past `last`, where too little
  // text is left to be compared.
  const char* const last_step = text.data() + (text.size() - far_ - kPlaces);
  const char* at = text.data();
  while (true) {
    unsigned places = places_at(at + near_, at + far_, near_byte, far_byte);
    for (; places != 0; places &= places - 1) {
      const char* const place = at + std::countr_zero(places);
      if (place > last) break;
      if (std::memcmp(place, wanted_.data(), wanted_.size()) == 0) return true;
    }
    if (at == last_step) return false;
    at = last_step - at > static_cast<std::ptrdiff_t>(kPlaces) ? at + kPlaces : last_step;
  }
}
#else
bool TextFinder::in(std::string_view text) const {
  return wanted_.empty() || found_plainly(text, wanted_);
}
#endif

}  // namespace jobbie::search
