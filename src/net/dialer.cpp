// The steps to a connection, one after the other.
#include "net/dialer.hpp"

#include <utility>

namespace jobbie::net {

Dialer::Dialer(DialerOptions options) : options_(std::move(options)), resolver_(options_.lookup) {}

Result<void> Dialer::load_trust() {
  const std::lock_guard lock(mutex_);
  if (tls_) return {};
  auto made = TlsContext::make(options_.tls);
  if (!made) return std::unexpected(std::move(made.error()));
  tls_ = std::make_shared<const TlsContext>(std::move(*made));
  return {};
}

Result<std::vector<Address>> Dialer::checked_addresses(const std::string& host,
                                                       const Deadline& deadline) const {
  auto addresses = resolver_.resolve(host, deadline);
  if (!addresses || !options_.check) return addresses;
  for (const auto& address : *addresses)
    if (auto good = options_.check(host, address); !good)
      return std::unexpected(std::move(good.error()));
  return addresses;
}

Result<Connection> Dialer::connect(const base::Url& url, const Deadline& deadline) {
  if (deadline.interrupt != nullptr && deadline.interrupt->raised())
    return std::unexpected(Error{.failure = Failure::interrupted, .message = "interrupted"});
  const auto addresses = checked_addresses(url.host, deadline);
  if (!addresses) return std::unexpected(addresses.error());
  auto connection = connect_to_any(*addresses, url.port, deadline);
  if (!connection || !url.tls) return connection;
  if (auto loaded = load_trust(); !loaded) return std::unexpected(std::move(loaded.error()));
  std::unique_lock lock(mutex_);
  const auto tls = tls_;
  lock.unlock();
  if (auto secured = connection->secure(*tls, url.host, deadline); !secured)
    return std::unexpected(std::move(secured.error()));
  return connection;
}

}  // namespace jobbie::net
