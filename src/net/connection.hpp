// One connection, over TLS or not, with deadlines.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "net/deadline.hpp"
#include "net/descriptor.hpp"
#include "net/error.hpp"
#include "net/tls.hpp"

namespace jobbie::net {

/// Owned by one thread at a time. Never raises SIGPIPE: a peer that has gone is an error.
class Connection {
 public:
  /// The socket is connected and does not block.
  explicit Connection(Descriptor socket) : socket_(std::move(socket)) {}
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  ~Connection();

  /// Before anything is read or written: everything from here on goes through TLS.
  [[nodiscard]] Result<void> secure(const TlsContext& context, const std::string& host,
                                    const Deadline& deadline);

  /// All of it.
  [[nodiscard]] Result<void> write(std::string_view bytes, const Deadline& deadline);
  /// At least one byte; 0 when the peer has ended.
  [[nodiscard]] Result<std::size_t> read(std::span<char> into, const Deadline& deadline);
  /// Nothing more will be sent: a server that holds the request back gives it up.
  void finish_sending();
  /// Whether nothing has come that nobody asked for, the end included: a connection that lay idle
  /// may be used again.
  [[nodiscard]] bool is_quiet() const;

 private:
  Result<void> write_tls(std::string_view bytes, const Deadline& deadline);
  Result<std::size_t> read_tls(std::span<char> into, const Deadline& deadline);
  /// After TLS gave `result`: waits for what it waits for, or tells why it failed.
  Result<void> wait_for_tls(int result, const Deadline& deadline);
  void end_tls();

  Descriptor socket_;
  TlsSession tls_;          ///< none: plain TCP
  bool tls_ended_ = false;  ///< we have said so, or there is nothing to say any more
};

}  // namespace jobbie::net
