// From a method and a path to a route's number and the path's variable parts.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.hpp"

namespace jobbie::http {

/// What a path led to. Parameters are views into the path, or into `decoded` where they had
/// escapes; so a match does not outlive the path, and can be moved but not copied.
struct Match {
  enum class Outcome : std::uint8_t {
    found,
    no_path,    ///< 404
    no_method,  ///< 405 with `allow`
    bad_path,   ///< 400: an escape that stands for nothing
  };
  static constexpr std::size_t kMaxParameters = 6;

  Match() = default;
  Match(Match&&) = default;
  Match& operator=(Match&&) = default;

  Outcome outcome = Outcome::no_path;
  std::size_t route = 0;
  std::size_t parameters = 0;
  std::array<std::string_view, kMaxParameters> parameter{};
  std::string allow;          ///< with `no_method`: `GET, HEAD, POST`
  std::vector<char> decoded;  ///< moves keep its address, which a short string's would not
};

/// A tree of path segments. Filled once at start, then read by all threads.
class Router {
 public:
  /// Patterns are `/jobs/{id}/ack`; `{name}` is one segment that is not empty, and `{name*}` as the
  /// last one is all that is left (possibly nothing, slashes included). Where a literal and a
  /// variable segment both fit, the literal wins, whatever the method. A pattern and method may
  /// occur once only. The route's number is the caller's. A GET route answers HEAD too.
  void add(Method method, std::string_view pattern, std::size_t route);

  [[nodiscard]] Match match(Method method, std::string_view path) const;

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kMaxSegments = 16;
  struct Node {
    Node() { routes.fill(kNone); }
    std::vector<std::pair<std::string, std::size_t>> literals;
    std::size_t variable = kNone;
    std::size_t rest = kNone;
    std::array<std::size_t, kMethods> routes{};
  };
  struct Search;

  static bool is_over(const Search& search);
  void walk(Search& search, std::size_t node, std::string_view path, std::size_t depth) const;
  void arrive(Search& search, std::size_t node) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);
};

}  // namespace jobbie::http
