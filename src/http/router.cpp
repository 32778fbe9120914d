// The tree of segments, and the walk through it with one way back at each variable segment.
#include "http/router.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "http/characters.hpp"

namespace jobbie::http {
namespace {

/// Decodes the parameters that have escapes, all into one array of its final size.
bool decode_parameters(Match& match) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < match.parameters; ++i) {
    if (match.parameter[i].find('%') != std::string_view::npos) bytes += match.parameter[i].size();
  }
  if (bytes == 0) return true;
  match.decoded.reserve(bytes);
  for (std::size_t p = 0; p < match.parameters; ++p) {
    const std::string_view raw = match.parameter[p];
    if (raw.find('%') == std::string_view::npos) continue;
    const std::size_t begin = match.decoded.size();
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '%') {
        match.decoded.push_back(raw[i]);
        continue;
      }
      if (raw.size() - i < 3) return false;
      const int high = hex_value(raw[i + 1]);
      const int low = hex_value(raw[i + 2]);
      if (high < 0 || low < 0 || (high == 0 && low == 0)) return false;
      match.decoded.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
    match.parameter[p] = {match.decoded.data() + begin, match.decoded.size() - begin};
  }
  return true;
}

}  // namespace

/// What a walk has gathered so far.
struct Router::Search {
  Method method = Method::other;
  Match match;
  std::size_t parameters = 0;
  std::array<std::string_view, Match::kMaxParameters> parameter{};
  unsigned allowed = 0;  ///< one bit for each method that the path has; zero: no such path yet
};

/// A path that is there under another method is there: a variable that would fit as well is not
/// what was meant.
bool Router::is_over(const Search& search) {
  return search.match.outcome == Match::Outcome::found || search.allowed != 0;
}

void Router::add(Method method, std::string_view pattern, std::size_t route) {
  JOBBIE_CHECK(method != Method::other && pattern.starts_with('/'));
  std::size_t at = 0;
  std::string_view left = pattern.substr(1);
  bool more = true;
  std::size_t parameters = 0;
  while (more) {
    const std::size_t slash = left.find('/');
    const std::string_view segment = left.substr(0, slash);
    more = slash != std::string_view::npos;
    left = more ? left.substr(slash + 1) : std::string_view();
    const bool variable = segment.starts_with('{') && segment.ends_with('}');
    const bool rest = variable && segment.ends_with("*}");
    JOBBIE_CHECK(!rest || !more);
    if (variable) JOBBIE_CHECK(++parameters <= Match::kMaxParameters);
    Node& node = nodes_[at];
    std::size_t child = rest ? node.rest : node.variable;
    if (!variable) {
      const auto found =
          std::ranges::find(node.literals, segment, [](const auto& entry) { return entry.first; });
      child = found != node.literals.end() ? found->second : kNone;
    }
    if (child == kNone) {
      child = nodes_.size();
      if (!variable)
        node.literals.emplace_back(segment, child);
      else
        (rest ? node.rest : node.variable) = child;
      nodes_.emplace_back();
    }
    at = child;
  }
  std::size_t& place = nodes_[at].routes[static_cast<std::size_t>(method)];
  JOBBIE_CHECK(place == kNone);
  place = route;
}

Match Router::match(Method method, std::string_view path) const {
  Search search;
  search.method = method;
  if (path.starts_with('/')) walk(search, 0, path.substr(1), 0);
  Match& match = search.match;
  if (match.outcome == Match::Outcome::found && !decode_parameters(match))
    match.outcome = Match::Outcome::bad_path;
  if (match.outcome == Match::Outcome::no_path && search.allowed != 0) {
    match.outcome = Match::Outcome::no_method;
    for (std::size_t i = 0; i < kMethods; ++i) {
      if ((search.allowed & (1U << i)) == 0) continue;
      if (!match.allow.empty()) match.allow += ", ";
      match.allow += method_name(static_cast<Method>(i));
    }
  }
  return std::move(search.match);
}

void Router::walk(Search& search, std::size_t node, std::string_view path,
                  std::size_t depth) const {
  const Node& here = nodes_[node];
  const std::size_t slash = path.find('/');
  const std::string_view segment = path.substr(0, slash);
  const auto on = [&](std::size_t child) {
    if (slash == std::string_view::npos)
      arrive(search, child);
    else if (depth < kMaxSegments)
      walk(search, child, path.substr(slash + 1), depth + 1);
  };
  for (const auto& [text, child] : here.literals) {
    if (text != segment) continue;
    on(child);
    if (is_over(search)) return;
  }
  if (here.variable != kNone && !segment.empty()) {
    search.parameter[search.parameters++] = segment;
    on(here.variable);
    if (is_over(search)) return;
    --search.parameters;
  }
  if (here.rest != kNone) {
    search.parameter[search.parameters++] = path;
    arrive(search, here.rest);
    --search.parameters;
  }
}

void Router::arrive(Search& search, std::size_t node) const {
  const auto& routes = nodes_[node].routes;
  const auto at = [](Method method) { return static_cast<std::size_t>(method); };
  std::size_t route = routes[at(search.method)];
  if (route == kNone && search.method == Method::head) route = routes[at(Method::get)];
  if (route != kNone) {
    search.match.outcome = Match::Outcome::found;
    search.match.route = route;
    search.match.parameters = search.parameters;
    search.match.parameter = search.parameter;
    return;
  }
  for (std::size_t i = 0; i < kMethods; ++i)
    if (routes[i] != kNone) search.allowed |= 1U << i;
  if (routes[at(Method::get)] != kNone) search.allowed |= 1U << at(Method::head);
}

}  // namespace jobbie::http
