// Attempts to connect that race one another.
#include <algorithm>
#include <cerrno>
#include <optional>
#include <poll.h>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "net/dialer.hpp"
#include "net/socket_address.hpp"

namespace jobbie::net {
namespace {

/// Between two attempts while none has failed, as RFC 8305 recommends it.
constexpr std::chrono::milliseconds kNextAttempt{250};

Error connect_error(int number) {
  return {.failure = Failure::connect_failed, .message = system_reason(number)};
}

/// The families in turns, each in the order in which the resolver gave it.
std::vector<Address> in_turns(const std::vector<Address>& addresses) {
  std::vector<Address> first;
  std::vector<Address> second;
  for (const auto& address : addresses)
    (address.is_v4() == addresses.front().is_v4() ? first : second).push_back(address);
  std::vector<Address> out;
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    if (i < first.size()) out.push_back(first[i]);
    if (i < second.size()) out.push_back(second[i]);
  }
  if (out.size() > Resolver::kMaxAddresses) out.resize(Resolver::kMaxAddresses);
  return out;
}

/// The attempts under way.
class Race {
 public:
  /// The socket, if the connection was there at once.
  std::optional<Descriptor> start(const Address& address, std::uint16_t port) {
    const auto to = to_socket_address(address, port);
    Descriptor socket(::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) {
      last_ = {.failure = Failure::no_resources, .message = system_reason(errno)};
      return std::nullopt;
    }
    const int one = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (::connect(socket.get(), to.get(), to.length) == 0) return socket;
    if (errno == EINPROGRESS || errno == EINTR)
      running_.push_back(std::move(socket));
    else
      last_ = connect_error(errno);
    return std::nullopt;
  }

  /// Waits until one attempt succeeds (its socket), one fails, or `until`.
  Result<std::optional<Descriptor>> wait(Clock::time_point until, const Deadline& deadline) {
    std::vector<pollfd> wanted;
    for (const auto& each : running_)
      wanted.push_back({.fd = each.get(), .events = POLLOUT, .revents = 0});
    auto ready = wait_for_any(wanted.data(), wanted.size(), until, deadline);
    if (!ready && ready.error().failure == Failure::timed_out)
      ready.error().message = "no answer to the connection";
    if (!ready) return std::unexpected(std::move(ready.error()));
    for (std::size_t i = wanted.size(); i-- > 0;) {
      if (wanted[i].revents == 0) continue;
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(running_[i].get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error == 0) return std::move(running_[i]);
      last_ = connect_error(error);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_empty() const { return running_.empty(); }
  [[nodiscard]] const Error& last() const { return last_; }

 private:
  std::vector<Descriptor> running_;
  Error last_{.failure = Failure::connect_failed, .message = "the host has no address"};
};

}  // namespace

Result<Connection> connect_to_any(const std::vector<Address>& addresses, std::uint16_t port,
                                  const Deadline& deadline) {
  const auto order = addresses.empty() ? addresses : in_turns(addresses);
  Race race;
  std::size_t next = 0;
  while (true) {
    if (next < order.size()) {
      if (auto won = race.start(order[next++], port)) return Connection(std::move(*won));
    }
    if (race.is_empty()) {
      if (next == order.size()) return std::unexpected(race.last());
      continue;
    }
    // Until the next may start; a failure lets it start at once.
    const auto until = next < order.size() ? Clock::now() + kNextAttempt : Clock::time_point::max();
    auto won = race.wait(until, deadline);
    if (!won) return std::unexpected(std::move(won.error()));
    if (*won) return Connection(std::move(**won));
  }
}

}  // namespace jobbie::net
