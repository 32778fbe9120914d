// One connection, over TLS or not, with deadlines. Not part of the public interface.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>

#include "client/error.hpp"
#include "client/interrupt.hpp"
#include "client/tls.hpp"
#include "client/url.hpp"

namespace jobbie::client {

using Clock = std::chrono::steady_clock;

/// How long an operation may take, and what may end it before that.
struct Patience {
  Clock::time_point deadline;
  const Interrupt* interrupt = nullptr;
};

/// Owned by one thread at a time. Never raises SIGPIPE.
class Socket {
 public:
  static Result<Socket> connect(const Url& url, const Patience& patience);
  /// Before anything is read or written: everything from here on goes through TLS.
  Result<void> secure(ssl_ctx_st& context, const Url& url, const Patience& patience);
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  Result<void> write(std::string_view bytes, const Patience& patience);
  /// At least one byte; 0 when the peer has ended.
  Result<std::size_t> read(std::span<char> into, const Patience& patience);
  /// Nothing more will be sent: a server that holds the request back gives it up.
  void finish_sending();
  /// Whether a connection that lay idle may be used again.
  bool is_quiet() const;

 private:
  explicit Socket(int fd) : fd_(fd) {}
  Result<void> write_tls(std::string_view bytes, const Patience& patience);
  Result<std::size_t> read_tls(std::span<char> into, const Patience& patience);
  /// After TLS gave `result`: waits for what it waits for, or tells why it failed.
  Result<void> await_tls(int result, const Patience& patience);
  void end_tls();

  int fd_;
  TlsConnection tls_;       ///< none: plain TCP
  bool tls_ended_ = false;  ///< we have said so, or there is nothing to say any more
};

}  // namespace jobbie::client
