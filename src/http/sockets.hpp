// The sockets of one loop, in an epoll set of their own that Asio watches as a whole.
//
// Asio arms every wait for a socket anew, with a system call and a turn of its scheduler. A set
// that stays armed costs those once for all sockets that are ready together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <sys/epoll.h>

#include "http/asio.hpp"
#include "http/server.hpp"

namespace jobbie::http {

/// Owns a descriptor.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket();
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Belongs to its loop's thread.
class SocketSet {
 public:
  struct Ready {
    ConnectionId id;
    std::uint32_t events = 0;  ///< EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP
  };

  explicit SocketSet(asio::io_context& context);

  /// Watches for nothing but the socket's death, until watch(). Closing the socket takes it out.
  /// False if the system has no room for it.
  [[nodiscard]] bool add(const Socket& socket, ConnectionId id);
  /// `events` stay watched until this is called again.
  void watch(const Socket& socket, ConnectionId id, std::uint32_t events);

  /// Calls `handler` once when there is something to take().
  template <typename Handler>
  void when_ready(Handler handler) {
    set_.async_wait(asio::posix::stream_descriptor::wait_read,
                    [handler = std::move(handler)](const asio::error_code& error) {
                      if (!error) handler();
                    });
  }
  /// What is ready now, at most as much as a turn should take; valid until the next call.
  std::span<const Ready> take();

 private:
  static constexpr std::size_t kTaken = 128;

  asio::posix::stream_descriptor set_;
  std::array<epoll_event, kTaken> events_{};
  std::array<Ready, kTaken> ready_{};
};

}  // namespace jobbie::http
