// A client that posts small bodies to other people's servers and believes nothing they say.
//
// One request, one connection, one deadline for all of it. It goes only where the rules for
// addresses let it, follows no redirects, and reads no more of an answer than its head.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/url.hpp"
#include "effects/address_rules.hpp"
#include "net/dialer.hpp"
#include "net/interrupt.hpp"

namespace jobbie::effects {

struct Post {
  base::Url url;
  std::vector<std::pair<std::string_view, std::string>> headers;  ///< beside those of every request
  std::string_view body;
  std::chrono::milliseconds timeout{10'000};
};

/// Used by many threads at once.
class HttpClient {
 public:
  /// `allow` must outlive it.
  explicit HttpClient(const AllowList& allow, net::Lookup lookup = net::system_lookup);

  /// The status that came back, whatever it is. Codes of errors: `unknown_host`, `blocked_address`,
  /// `connect_failed`, `tls_failed`, `timeout`, `bad_answer`, `stopping`.
  [[nodiscard]] base::Result<int> send(const Post& post);

  /// Ends what is under way within moments, and refuses what comes later.
  void stop() { stopping_.raise(); }

 private:
  net::Dialer dialer_;
  net::Interrupt stopping_;
};

}  // namespace jobbie::effects
