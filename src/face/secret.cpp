// Five random bits for each character: no letter that looks like a digit.
#include "face/secret.hpp"

#include <array>

#include <sys/random.h>

#include "base/check.hpp"
#include "base/digest.hpp"

namespace jobbie::face {
namespace {

constexpr std::size_t kCharacters = 40;
constexpr std::size_t kShown = 4;

}  // namespace

std::string make_secret() {
  constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  static_assert(kAlphabet.size() == 32);
  std::array<unsigned char, kCharacters> bytes{};
  // Small reads come whole.
  JOBBIE_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string out = "jbk_";
  for (const auto byte : bytes) out += kAlphabet[byte % kAlphabet.size()];
  return out;
}

void keep_secret(std::string_view secret, model::KeySpec& key) {
  key.digest = base::Blob(base::bytes_of(base::sha256(secret)));
  key.last_four = base::Blob(secret.substr(secret.size() - std::min(secret.size(), kShown)));
}

}  // namespace jobbie::face
