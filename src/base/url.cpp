// One pass over the text.
#include "base/url.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace jobbie::base {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;
constexpr std::size_t kMostHostBytes = 253;

Error bad(std::string message) { return {.code = "bad_url", .message = std::move(message)}; }

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

bool is_v6_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' ||
         c == '.';
}

bool take_port(std::string_view text, std::uint16_t& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port != 0;
}

Result<Url> take_authority(std::string_view text, Url url) {
  if (text.find('@') != std::string_view::npos)
    return std::unexpected(bad("a URL with a user name is not accepted"));
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return std::unexpected(bad("the host has no closing ]"));
    url.host = text.substr(1, close - 1);
    url.is_v6 = true;
    rest = text.substr(close + 1);
  } else {
    const auto colon = text.find(':');
    url.host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
  }
  const bool sound = !url.host.empty() && url.host.size() <= kMostHostBytes &&
                     std::all_of(url.host.begin(), url.host.end(),
                                 url.is_v6 ? is_v6_character : is_host_character);
  if (!sound) return std::unexpected(bad("the URL has no sound host"));
  if (!rest.empty() && (rest.front() != ':' || !take_port(rest.substr(1), url.port)))
    return std::unexpected(bad("the URL has no sound port"));
  return url;
}

}  // namespace

std::string Url::authority() const {
  if (port != (tls ? kHttpsPort : kHttpPort)) return host_and_port();
  return is_v6 ? "[" + host + "]" : host;
}

std::string Url::host_and_port() const {
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Url> parse_url(std::string_view text) {
  Url url;
  constexpr std::string_view kHttp = "http://";
  constexpr std::string_view kHttps = "https://";
  if (text.starts_with(kHttps)) {
    url.tls = true;
    url.port = kHttpsPort;
    text.remove_prefix(kHttps.size());
  } else if (text.starts_with(kHttp)) {
    url.port = kHttpPort;
    text.remove_prefix(kHttp.size());
  } else {
    return std::unexpected(bad("a URL begins with http:// or https://"));
  }
  const auto printable = [](char c) { return c > 0x20 && c < 0x7f; };
  if (!std::all_of(text.begin(), text.end(), printable))
    return std::unexpected(bad("the URL has a space or another character that must be escaped"));
  if (text.find('#') != std::string_view::npos)
    return std::unexpected(bad("a URL with a fragment is not accepted"));
  const auto end = text.find_first_of("/?");
  url.target = end == std::string_view::npos ? "" : text.substr(end);
  if (!url.target.starts_with('/')) url.target.insert(0, 1, '/');
  return take_authority(text.substr(0, end), std::move(url));
}

std::string percent_encode(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
  };
  std::string out;
  for (const char c : text) {
    if (is_plain(c)) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kDigits[byte >> 4U]);
    out.push_back(kDigits[byte & 15U]);
  }
  return out;
}

}  // namespace jobbie::base
