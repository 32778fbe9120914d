// Names of hosts to addresses, with a deadline that holds.
//
// The system's getaddrinfo() takes as long as it likes, half a minute with a name server that is
// away, and cannot be called off. So it runs in a thread of its own and the caller waits for that
// thread, no longer than its deadline. The alternatives: getaddrinfo_a() does the same inside glibc
// alone, cannot cancel a lookup that has begun either, and its memory must outlive it all the same;
// a DNS client of our own would know nothing of /etc/hosts, of nsswitch.conf and of mDNS.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/address.hpp"
#include "net/deadline.hpp"
#include "net/error.hpp"

namespace jobbie::net {

/// Blocks as long as it takes. May be called by several threads at once, and may still be running
/// when the resolver and its caller are gone: it owns whatever it uses.
using Lookup = std::function<Result<std::vector<Address>>(const std::string& host)>;

/// getaddrinfo().
[[nodiscard]] Result<std::vector<Address>> system_lookup(const std::string& host);

/// May be used by several threads at once.
///
/// Its threads exist while there are names to look up, and end by themselves. Nobody joins them:
/// the destructor does not wait for a name server. They own the queue they work on together with
/// the resolver, so one that is late touches nothing that has gone.
class Resolver {
 public:
  /// Threads; names beyond that wait for one of them, no longer than their callers do.
  static constexpr std::size_t kMaxLookups = 8;
  /// What is kept of an answer.
  static constexpr std::size_t kMaxAddresses = 16;

  explicit Resolver(Lookup lookup = system_lookup);

  /// At least one address. An address as a host is itself, at once.
  [[nodiscard]] Result<std::vector<Address>> resolve(const std::string& host,
                                                     const Deadline& deadline) const;

 private:
  struct Query;
  struct Pool;
  /// Shared with the threads, which may outlive the resolver.
  std::shared_ptr<Pool> pool_;
};

}  // namespace jobbie::net
