// The network does not know of flags and variables; the hints about them are made here.
#include "client/transport_error.hpp"

#include <utility>

namespace jobbie::client {
namespace {

Error untrusted(std::string message, std::string hint) {
  return {.failure = Failure::untrusted, .message = std::move(message), .hint = std::move(hint)};
}

}  // namespace

Error trust_error(net::Error error) {
  if (error.failure != net::Failure::bad_ca_file)
    return {.failure = Failure::broken, .message = std::move(error.message)};
  return {.failure = Failure::settings,
          .code = "bad_tls_ca",
          .message = std::move(error.message),
          .hint = "--tls-ca and JOBBIE_TLS_CA name a file in PEM."};
}

Error connect_error(net::Error error, const std::string& where) {
  std::string hint =
      "Is the server running? `jobbie server` starts one; --url or JOBBIE_URL names another.";
  switch (error.failure) {
    case net::Failure::interrupted:
      return {.failure = Failure::interrupted, .message = std::move(error.message)};
    case net::Failure::bad_ca_file:
      return trust_error(std::move(error));
    case net::Failure::certificate_wrong_name:
      return untrusted(std::move(error.message),
                       "Use an address with a name that the certificate has.");
    case net::Failure::certificate_not_current:
      return untrusted(std::move(error.message),
                       "The server needs a new certificate, or one of the two clocks is wrong.");
    case net::Failure::certificate_untrusted:
      return untrusted(std::move(error.message),
                       "--tls-ca FILE or JOBBIE_TLS_CA names the authority that signed it.");
    case net::Failure::not_tls:
      hint = "Is it an address with http:// rather than https://?";
      break;
    default:
      break;
  }
  return {.failure = Failure::unreachable,
          .message = "no server at " + where + ": " + error.message,
          .hint = std::move(hint)};
}

Error exchange_error(net::Error error) {
  switch (error.failure) {
    case net::Failure::timed_out:
      return {.failure = Failure::timed_out, .message = std::move(error.message)};
    case net::Failure::interrupted:
      return {.failure = Failure::interrupted, .message = std::move(error.message)};
    case net::Failure::bad_request:
      return {
          .failure = Failure::settings, .code = "bad_request", .message = std::move(error.message)};
    case net::Failure::not_http:
      return {.failure = Failure::broken,
              .message = error.message + "; is this the address of a Jobbie server?"};
    default:
      return {.failure = Failure::broken, .message = std::move(error.message)};
  }
}

}  // namespace jobbie::client
