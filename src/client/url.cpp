// Reads addresses; refuses what this client cannot speak rather than guess.
#include "client/url.hpp"

#include <charconv>

namespace jobbie::client {
namespace {

std::unexpected<Error> wrong(std::string_view url, std::string why) {
  return std::unexpected(Error{.failure = Failure::settings,
                               .code = "bad_url",
                               .message = "\"" + std::string(url) + "\" " + std::move(why),
                               .hint = "An address looks like http://127.0.0.1:8080"});
}

bool is_plain(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

bool is_printable(std::string_view text) {
  for (const char c : text)
    if (c <= ' ' || c > '~') return false;
  return true;
}

}  // namespace

std::string Url::authority() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Url> parse_url(std::string_view text) {
  std::string_view rest = text;
  Url url;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
    url.tls = true;
    url.port = 443;
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  }
  if (rest.find("://") != std::string_view::npos)
    return wrong(text, "is neither an http nor an https address");
  if (!is_printable(rest)) return wrong(text, "has a character that no address has");
  const auto slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) url.prefix = rest.substr(slash);
  while (url.prefix.ends_with('/')) url.prefix.pop_back();
  if (url.prefix.find_first_of("?#") != std::string::npos)
    return wrong(text, "has a query, which an address has not");

  const auto bracket = authority.find(']');
  const auto colon = authority.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    const std::string_view digits = authority.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
    if (error != std::errc{} || end != digits.data() + digits.size() || url.port == 0)
      return wrong(text, "has no valid port");
    authority = authority.substr(0, colon);
  }
  if (authority.starts_with('[') && authority.ends_with(']'))
    authority = authority.substr(1, authority.size() - 2);
  if (authority.empty() || authority.find('@') != std::string_view::npos)
    return wrong(text, "has no host name");
  url.host = authority;
  return url;
}

std::string encoded(std::string_view name) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : name) {
    if (is_plain(c)) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kHex[byte >> 4U]);
    out.push_back(kHex[byte & 15U]);
  }
  return out;
}

}  // namespace jobbie::client
