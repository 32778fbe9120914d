// What can go wrong on the way to another server, as one value.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

namespace jobbie::net {

enum class Failure : std::uint8_t {
  no_resources,             ///< this machine gave no socket, thread or memory
  unknown_host,             ///< the name has no address
  address_refused,          ///< the caller's check refused an address that the name has
  connect_failed,           ///< nobody took the connection
  timed_out,                ///< the deadline has passed; a request may have had its effect
  interrupted,              ///< the caller asked for the end
  bad_ca_file,              ///< no certificate could be read from the file that was named
  not_tls,                  ///< what listens there does not speak TLS
  handshake_failed,         ///< it does, but no session came of it
  certificate_untrusted,    ///< nobody we trust vouches for the server
  certificate_wrong_name,   ///< it is for another name or address
  certificate_not_current,  ///< expired, or not valid yet
  bad_request,              ///< the request cannot be written as HTTP: nothing was sent
  closed,                   ///< the other side ended the connection within an answer
  broken,                   ///< the connection failed within an exchange
  not_http,                 ///< what came back is something else
  malformed,                ///< what came back is HTTP, but cannot be read
  too_large,                ///< what came back is longer than the caller takes
};

/// `message` tells a person what happened.
struct Error {
  Failure failure = Failure::broken;
  std::string message;
};

template <typename T>
using Result = std::expected<T, Error>;

}  // namespace jobbie::net
