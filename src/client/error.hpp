// What can go wrong between a program and a Jobbie server, as one value.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>

namespace jobbie::client {

enum class Failure {
  settings,     ///< an option of this program is wrong: nothing was sent
  unreachable,  ///< no connection could be made
  timed_out,    ///< no answer in time; the request may have had its effect
  broken,       ///< the connection ended within an exchange, or the peer does not speak HTTP
  refused,      ///< the server answered with an error: `status` and `code` say which
  interrupted,  ///< the caller asked for the end
  untrusted,    ///< the server's certificate is not good: nothing was sent
};

/// `message` tells a person what happened, `hint` what to do (empty where there is nothing to say).
/// `code` and `field` are those of the server's problem+json; docs/errors.md lists the codes.
struct Error {
  Failure failure = Failure::broken;
  int status = 0;
  std::string code;
  std::string message;
  std::string field;
  std::string hint;
  std::optional<std::chrono::milliseconds> retry_after;
};

template <typename T>
using Result = std::expected<T, Error>;

}  // namespace jobbie::client
