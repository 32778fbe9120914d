// What is asked of the network, and its failures by the codes that users see.
#include "effects/http_client.hpp"

#include "net/http.hpp"

namespace jobbie::effects {
namespace {

constexpr net::HttpLimits kLimits{.head_bytes = std::size_t{16} << 10, .body_bytes = 0};

std::string_view code_of(net::Failure failure) {
  switch (failure) {
    case net::Failure::unknown_host:
      return "unknown_host";
    case net::Failure::address_refused:
      return "blocked_address";
    case net::Failure::timed_out:
      return "timeout";
    case net::Failure::interrupted:
      return "stopping";
    case net::Failure::bad_ca_file:
    case net::Failure::not_tls:
    case net::Failure::handshake_failed:
    case net::Failure::certificate_untrusted:
    case net::Failure::certificate_wrong_name:
    case net::Failure::certificate_not_current:
      return "tls_failed";
    case net::Failure::closed:
    case net::Failure::not_http:
    case net::Failure::malformed:
    case net::Failure::too_large:
      return "bad_answer";
    case net::Failure::no_resources:
    case net::Failure::connect_failed:
    case net::Failure::bad_request:
    case net::Failure::broken:
      break;
  }
  return "connect_failed";
}

std::unexpected<base::Error> not_delivered(const net::Error& error) {
  return std::unexpected(
      base::Error{.code = std::string(code_of(error.failure)), .message = error.message});
}

net::AddressCheck only_allowed(const AllowList& allow) {
  return [&allow](std::string_view host, const net::Address& address) -> net::Result<void> {
    if (is_public(address) || allow.allows(host, address)) return {};
    return std::unexpected(net::Error{
        .failure = net::Failure::address_refused,
        .message = "the host has an address that is not public; the operator can allow it with "
                   "--webhook-allow"});
  };
}

net::HttpRequest request_of(const Post& post) {
  net::HttpRequest request{.method = "POST",
                           .target = post.url.target,
                           .host = post.url.authority(),
                           .headers = {{"user-agent", "jobbie"},
                                       {"accept", "*/*"},
                                       {"connection", "close"},
                                       {"content-type", "application/json"}},
                           .body = post.body};
  for (const auto& [name, value] : post.headers)
    request.headers.emplace_back(std::string(name), value);
  return request;
}

}  // namespace

HttpClient::HttpClient(const AllowList& allow, net::Lookup lookup)
    : dialer_({.tls = {}, .check = only_allowed(allow), .lookup = std::move(lookup)}) {}

base::Result<int> HttpClient::send(const Post& post) {
  const auto deadline = net::Deadline::in(post.timeout, &stopping_);
  auto connected = dialer_.connect(post.url, deadline);
  if (!connected) return not_delivered(connected.error());
  net::HttpConnection connection(std::move(*connected), kLimits);
  const auto sent = connection.send(request_of(post), deadline);
  // A receiver that refuses a body may answer before it has read it.
  if (!sent && sent.error().failure != net::Failure::broken) return not_delivered(sent.error());
  const auto head = connection.read_head(deadline);
  if (!head) return not_delivered(sent ? head.error() : sent.error());
  return head->status;
}

}  // namespace jobbie::effects
