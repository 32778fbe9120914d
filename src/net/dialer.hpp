// From a URL to a connection: looks the name up, checks its addresses, connects, and secures it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/url.hpp"
#include "net/address.hpp"
#include "net/connection.hpp"
#include "net/deadline.hpp"
#include "net/error.hpp"
#include "net/resolver.hpp"
#include "net/tls.hpp"

namespace jobbie::net {

/// Tells whether `host` may be reached at this address; may be called by several threads at once.
using AddressCheck = std::function<Result<void>(std::string_view host, const Address& address)>;

struct DialerOptions {
  TlsOptions tls;
  /// Every address of a host is checked before the first is tried, and one that is refused refuses
  /// the host: a name with a good and a bad address is a way past the check. The connection goes to
  /// an address that was checked, never to the name again. None: all are good.
  AddressCheck check;
  Lookup lookup = system_lookup;
};

/// May be used by several threads at once.
class Dialer {
 public:
  explicit Dialer(DialerOptions options);

  /// The deadline is for all of it.
  [[nodiscard]] Result<Connection> connect(const base::Url& url, const Deadline& deadline);

  /// Reads the certificates to trust, which the first https connection does otherwise: it takes its
  /// time, and here a file that cannot be read is told at once.
  [[nodiscard]] Result<void> load_trust();

 private:
  Result<std::vector<Address>> checked_addresses(const std::string& host,
                                                 const Deadline& deadline) const;

  DialerOptions options_;
  Resolver resolver_;
  std::mutex mutex_;
  /// Made once, then constant; shared with the connections that are being secured outside the lock.
  std::shared_ptr<const TlsContext> tls_;
};

/// Connects to the first of the addresses that answers. The two families take turns, beginning with
/// that of the first address; the next address is tried a moment after the one before or as soon as
/// that fails, and all go on until one succeeds (RFC 8305, "happy eyeballs").
[[nodiscard]] Result<Connection> connect_to_any(const std::vector<Address>& addresses,
                                                std::uint16_t port, const Deadline& deadline);

}  // namespace jobbie::net
