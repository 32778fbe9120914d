// TLS for the server's connections: the certificate, and one session for each connection.
//
// Internal to this folder. A session stands between a connection and its socket and reads and
// writes as recv() and send() do, so that a connection without one pays a comparison with null.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "http/server.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace jobbie::http {

/// Belongs to its connection, and goes before the socket does.
class TlsSession {
 public:
  /// `tls` is not null, and reads and writes the socket.
  TlsSession(ssl_st* tls, int descriptor) : tls_(tls), descriptor_(descriptor) {}
  /// Tells the client that nothing was cut off, where that is still possible.
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  enum class Shaken : std::uint8_t {
    not_yet,
    done,
    plain,   ///< the client speaks HTTP; nothing of it was read
    failed,  ///< the client has been told
  };
  Shaken shake_hands();
  /// Whether hands have been shaken.
  [[nodiscard]] bool ready() const { return ready_; }

  /// As recv() does, but up to the room that there is: -1 with EAGAIN if nothing has come.
  long read(std::span<char> into);
  /// As send() does. What could not be written must be tried again, with more behind it or not.
  long write(std::string_view bytes);
  /// Says that nothing more will be written. False if that has to wait until the socket is
  /// writable.
  bool finish();

  /// Whether there is more to read that no event of the socket will tell of.
  [[nodiscard]] bool more() const { return more_; }
  /// Whether the handshake or the reading goes on when the socket is writable, not readable.
  [[nodiscard]] bool wants_write() const { return wants_write_; }

 private:
  struct Free {
    void operator()(ssl_st* tls) const;
  };
  std::unique_ptr<ssl_st, Free> tls_;
  const int descriptor_;
  bool looked_ = false;  ///< at the first byte
  bool ready_ = false;
  bool failed_ = false;  ///< nothing more may be asked of the library
  bool finished_ = false;
  bool more_ = false;
  bool wants_write_ = false;
};

/// The certificate and the key as the files had them when they were read last. From any thread.
class TlsIdentity {
 public:
  static base::Result<std::unique_ptr<TlsIdentity>> load(TlsFiles files);

  /// Reads the files again. If they are no good, what was read before stays.
  base::Result<void> reload();
  /// Null if there is no memory.
  std::unique_ptr<TlsSession> session(int descriptor);
  [[nodiscard]] base::Instant expires() const;

 private:
  explicit TlsIdentity(TlsFiles files) : files_(std::move(files)) {}

  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  using Context = std::unique_ptr<ssl_ctx_st, Free>;
  [[nodiscard]] base::Result<Context> read_files() const;

  const TlsFiles files_;
  mutable std::mutex mutex_;
  Context context_;  ///< sessions hold on to theirs
};

}  // namespace jobbie::http
