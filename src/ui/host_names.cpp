// Hosts as browsers send them.
#include "ui/host_names.hpp"

#include <algorithm>

namespace jobbie::ui {
namespace {

/// Without port and closing dot; addresses of version 6 keep their brackets.
std::string_view name_of(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  host = host.substr(0, host.find(':'));
  return host.ends_with('.') ? host.substr(0, host.size() - 1) : host;
}

/// A page cannot keep its browser from sending one of these.
bool is_browser(const http::Request& request) {
  const auto has = [&](std::string_view name) { return !request.header(name).empty(); };
  return has("accept-language") || has("sec-fetch-site") || has("origin") || has("referer") ||
         request.header("user-agent").starts_with("Mozilla/");
}

}  // namespace

bool is_own_name(std::string_view host) {
  const auto name = name_of(host);
  if (name.starts_with('[') || name.find('.') == name.npos) return true;
  if (name.find_first_not_of("0123456789.") == name.npos) return true;
  constexpr std::string_view kLocal = ".localhost";
  return name.size() > kLocal.size() &&
         http::equal_ignoring_case(name.substr(name.size() - kLocal.size()), kLocal);
}

bool is_foreign_name(const http::Request& request, const std::vector<std::string>& allowed) {
  const auto host = request.header("host");
  if (is_own_name(host)) return false;
  const auto is_it = [name = name_of(host)](const std::string& one) {
    return http::equal_ignoring_case(one, name);
  };
  return std::none_of(allowed.begin(), allowed.end(), is_it) && is_browser(request);
}

}  // namespace jobbie::ui
