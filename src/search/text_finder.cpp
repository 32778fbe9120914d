// The two rare bytes, the search for them, and the one for texts made to mislead it.
#include "search/text_finder.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace jobbie::search {
namespace {

constexpr auto kNowhere = std::string_view::npos;

/// From the most frequent on, roughly; what is not here is rare.
constexpr std::string_view kFrequent = "\"e taoinsrlcd:,ump0.1hgf/2b-y_v3w54k6789{}x[]jzq";

/// The higher, the rarer.
std::size_t rarity(char c) {
  const auto at = kFrequent.find(c);
  return at == std::string_view::npos ? kFrequent.size() : at;
}

/// Where a text falls in two for the two-way search, and the period of its second part.
struct Split {
  std::size_t at = 0;
  std::size_t period = 1;
};

/// The greatest suffix in the order of bytes, or in the reverse of it.
Split greatest_suffix(std::string_view text, bool reverse) {
  Split found;
  std::size_t other = 1;  // another suffix, the same as the greatest for `same` bytes
  std::size_t same = 0;
  while (other + same < text.size()) {
    const auto ours = static_cast<unsigned char>(text[found.at + same]);
    const auto theirs = static_cast<unsigned char>(text[other + same]);
    if (ours == theirs) {
      if (++same == found.period) {
        other += found.period;
        same = 0;
      }
    } else if ((theirs < ours) != reverse) {
      other += same + 1;
      same = 0;
      found.period = other - found.at;
    } else {
      found = {.at = other, .period = 1};
      ++other;
      same = 0;
    }
  }
  return found;
}

/// The two-way search of Crochemore and Perrin (1991): every byte is compared twice at most, and
/// nothing is kept but a few numbers.
class TwoWay {
 public:
  TwoWay(std::string_view wanted, Budget& budget) : wanted_(wanted), budget_(budget) {
    const Split forward = greatest_suffix(wanted, false);
    const Split backward = greatest_suffix(wanted, true);
    const Split split = forward.at > backward.at ? forward : backward;
    at_ = split.at;
    periodic_ = wanted.substr(split.period).starts_with(wanted.substr(0, split.at));
    shift_ = periodic_ ? split.period : std::max(split.at, wanted.size() - split.at) + 1;
    budget.spend(4 * wanted.size());
  }

  [[nodiscard]] std::size_t find(std::string_view text, std::size_t from) {
    std::size_t known = 0;  // so much of the beginning is known to be the same
    while (from + wanted_.size() <= text.size()) {
      std::size_t i = std::max(at_, known);
      const std::size_t first = i;
      while (i < wanted_.size() && wanted_[i] == text[from + i]) ++i;
      if (!budget_.spend(i - first + 1)) return kNowhere;
      if (i < wanted_.size()) {
        from += i - at_ + 1;
        known = 0;
        continue;
      }
      std::size_t left = at_;
      while (left > known && wanted_[left - 1] == text[from + left - 1]) --left;
      if (!budget_.spend(at_ - left + 1)) return kNowhere;
      if (left <= known) return from;
      from += shift_;
      known = periodic_ ? wanted_.size() - shift_ : 0;
    }
    return kNowhere;
  }

 private:
  std::string_view wanted_;
  Budget& budget_;
  std::size_t at_ = 0;
  std::size_t shift_ = 1;  ///< after a failure in the first part
  bool periodic_ = false;  ///< the whole text has the second part's period
};

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
/// Bytes that may be compared in vain: so many, and so many more for each byte that was passed.
/// Past that the text is one that the two bytes are no help with.
constexpr std::size_t kFreeBytes = 4096;
constexpr std::size_t kFreeBytesForEach = 4;
/// Bytes compared at a time.
constexpr std::size_t kPart = 64;

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

/// Whether `wanted` stands at `place`; adds what was compared in vain.
inline bool stands_at(const char* place, std::string_view wanted, std::size_t& in_vain) {
  for (std::size_t done = 0; done < wanted.size(); done += kPart) {
    const std::size_t part = std::min(kPart, wanted.size() - done);
    if (std::memcmp(place + done, wanted.data() + done, part) == 0) continue;
    in_vain += done + part;
    return false;
  }
  return true;
}

/// Where two bytes of a text stand in it.
struct Marks {
  std::size_t near = 0;
  std::size_t far = 0;
};

/// Where there are fewer places than are looked at together.
std::size_t find_in_short(std::string_view text, std::string_view wanted, Budget& budget) {
  std::size_t compared = wanted.size();
  std::size_t place = 0;
  const std::size_t places = text.size() - wanted.size() + 1;
  while (place < places && !stands_at(text.data() + place, wanted, compared)) ++place;
  budget.spend(compared);
  return place < places ? place : kNowhere;
}

std::size_t find_by_marks(std::string_view text, std::string_view wanted, Marks marks,
                          Budget& budget) {
  if (wanted.empty()) return 0;
  if (text.size() < wanted.size()) return kNowhere;
  if (text.size() < marks.far + kPlaces) return find_in_short(text, wanted, budget);
  const __m128i near_byte = _mm_set1_epi8(wanted[marks.near]);
  const __m128i far_byte = _mm_set1_epi8(wanted[marks.far]);
  const char* const begin = text.data();
  const char* const last = begin + (text.size() - wanted.size());
  // The last sixteen places overlap those before. Some of them are past `last`, where too little
  // text is left to be compared.
  const char* const last_step = begin + (text.size() - marks.far - kPlaces);
  const char* at = begin;
  std::size_t in_vain = 0;
  while (true) {
    unsigned places = places_at(at + marks.near, at + marks.far, near_byte, far_byte);
    for (; places != 0; places &= places - 1) {
      const char* const place = at + std::countr_zero(places);
      if (place > last) break;
      const auto passed = static_cast<std::size_t>(place - begin);
      if (stands_at(place, wanted, in_vain)) {
        budget.spend(passed + in_vain + wanted.size());
        return passed;
      }
      if (in_vain <= kFreeBytes + kFreeBytesForEach * passed) continue;
      if (!budget.spend(passed + in_vain)) return kNowhere;
      return TwoWay(wanted, budget).find(text, passed + 1);
    }
    if (at == last_step) break;
    at = last_step - at > static_cast<std::ptrdiff_t>(kPlaces) ? at + kPlaces : last_step;
  }
  budget.spend(text.size() + in_vain);
  return kNowhere;
}

}  // namespace

std::size_t find_text(std::string_view text, std::string_view wanted, Budget& budget) {
  const std::size_t far = wanted.empty() ? 0 : wanted.size() - 1;
  return find_by_marks(text, wanted, {.near = 0, .far = far}, budget);
}

bool TextFinder::in(std::string_view text, Budget& budget) const {
  return find_by_marks(text, wanted_, {.near = near_, .far = far_}, budget) != kNowhere;
}
#else
std::size_t find_text(std::string_view text, std::string_view wanted, Budget& budget) {
  return wanted.empty() ? 0 : TwoWay(wanted, budget).find(text, 0);
}

bool TextFinder::in(std::string_view text, Budget& budget) const {
  return find_text(text, wanted_, budget) != kNowhere;
}
#endif

}  // namespace jobbie::search
