// Failures of the network in the words of the client. Not part of the public interface.
#pragma once

#include "client/error.hpp"
#include "net/error.hpp"

namespace jobbie::client {

/// No connection came about: nothing was sent. `where` is the server's host and port.
[[nodiscard]] Error connect_error(net::Error error, const std::string& where);
/// The exchange of a request and its answer failed.
[[nodiscard]] Error exchange_error(net::Error error);
/// What was said of the certificates to trust cannot be used.
[[nodiscard]] Error trust_error(net::Error error);

}  // namespace jobbie::client
