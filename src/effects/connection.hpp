// One connection of the client: connected, maybe secured, written to and read from, with a deadline
// for all of it. Private to the folder.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

#include "base/result.hpp"
#include "base/url.hpp"
#include "effects/address_rules.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace jobbie::effects {

class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  /// `stopping` must outlive it.
  Connection(Clock::time_point deadline, const std::atomic<bool>& stopping)
      : deadline_(deadline), stopping_(stopping) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Resolves the host, judges every address it has, and connects to one of these.
  base::Result<void> open(const base::Url& url, const AllowList& allow);
  /// The server must show a certificate for the host.
  base::Result<void> secure(ssl_ctx_st& context, const base::Url& url);
  base::Result<void> write(std::string_view bytes);
  /// Zero: the other side has closed.
  base::Result<std::size_t> read(char* into, std::size_t most);

 private:
  base::Result<void> connect(const sockaddr& address, unsigned length);
  /// Waits for poll()'s `events`.
  base::Result<void> wait(short events) const;
  /// After an operation of the TLS layer gave `result`: nothing if it should be tried again.
  base::Result<void> wait_for_tls(int result);

  Clock::time_point deadline_;
  const std::atomic<bool>& stopping_;
  int fd_ = -1;
  struct Free {
    void operator()(ssl_st* tls) const;
  };
  std::unique_ptr<ssl_st, Free> tls_;
};

}  // namespace jobbie::effects
