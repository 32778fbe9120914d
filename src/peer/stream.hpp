// A connected socket that never blocks, with TLS around it if wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "peer/handshake.hpp"
#include "peer/transport.hpp"

struct sockaddr;
struct ssl_ctx_st;
struct ssl_st;

namespace jobbie::peer {

/// TLS 1.3 alone, with certificates of the cluster's authority on both sides.
class TlsContext {
 public:
  static base::Result<std::unique_ptr<TlsContext>> load(const TlsFiles& files);
  [[nodiscard]] ssl_ctx_st& get() const { return *context_; }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

/// What has to happen before an operation can go on.
enum class Need : std::uint8_t { nothing, to_read, to_write };

struct Progress {
  std::size_t bytes = 0;
  Need need = Need::nothing;  ///< with `bytes` 0 alone
};

/// Owned by one thread at a time. A write to a connection that is gone raises SIGPIPE, which the
/// threads of this library block.
class Stream {
 public:
  Stream() = default;
  /// Takes the descriptor, and sets what every connection has: no delay, keep-alive.
  explicit Stream(int descriptor);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  /// Begins to connect: when it can be written to, connected() tells what became of it.
  static base::Result<Stream> connect(const sockaddr& address, unsigned length);
  [[nodiscard]] base::Result<void> connected() const;

  /// From here on everything is inside TLS; begins with shake_hands() until it needs nothing.
  base::Result<void> secure(const TlsContext& context, Role role);
  base::Result<Progress> shake_hands();
  /// Bytes that only the two ends of this TLS session know; empty without TLS.
  [[nodiscard]] std::string binding() const;
  [[nodiscard]] bool is_secured() const { return tls_ != nullptr; }

  /// The end of the stream is an error, `connection_lost`, as every other one.
  base::Result<Progress> read(std::span<char> into);
  base::Result<Progress> write(std::string_view bytes);
  /// Bytes that were written and have not arrived yet.
  [[nodiscard]] std::size_t in_flight() const;
  /// No more will be written; what was written still arrives.
  void end_writing();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// The other end's address without the port; empty if it is gone.
  [[nodiscard]] std::string remote_address() const;

 private:
  struct Free {
    void operator()(ssl_st* tls) const;
  };
  base::Result<Progress> after_tls(int result);

  int descriptor_ = -1;
  std::unique_ptr<ssl_st, Free> tls_;
};

/// An address as text, in the short form of IPv4 also where it came through IPv6.
std::string text_of(const sockaddr& address);

}  // namespace jobbie::peer
