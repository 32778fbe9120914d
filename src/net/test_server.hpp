// A server on the loopback interface that does what a test says; for tests alone.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/check.hpp"
#include "base/url.hpp"
#include "net/descriptor.hpp"

namespace jobbie::net {

/// A socket on 127.0.0.1 with a port of the system's choice: listening (SOCK_STREAM), or one that
/// nobody reads (SOCK_DGRAM).
inline Descriptor bind_loopback(int type, std::uint16_t& port) {
  Descriptor socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  JOBBIE_CHECK(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), size) == 0);
  if (type == SOCK_STREAM) JOBBIE_CHECK(::listen(socket.get(), 16) == 0);
  JOBBIE_CHECK(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &size) == 0);
  port = ntohs(at.sin_port);
  return socket;
}

inline base::Url loopback_url(std::uint16_t port, bool tls = false) {
  base::Url url;
  url.tls = tls;
  url.host = "127.0.0.1";
  url.port = port;
  url.target = "/";
  return url;
}

/// One connection after the other is given to `talk`, and closed when that returns.
class TestServer {
 public:
  using Talk = std::function<void(int socket)>;

  explicit TestServer(Talk talk)
      : listener_(bind_loopback(SOCK_STREAM, port_)),
        thread_([this, talk = std::move(talk)] { serve(talk); }) {}

  ~TestServer() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      if (current_ >= 0) ::shutdown(current_, SHUT_RDWR);
    }
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// A whole request; what was read if the peer ends before that.
  static std::string read_request(int socket) {
    std::string text;
    while (!is_whole(text)) {
      char part[4096];
      const auto got = ::recv(socket, part, sizeof part, 0);
      if (got <= 0) break;
      text.append(part, static_cast<std::size_t>(got));
    }
    return text;
  }
  static void say(int socket, std::string_view text) {
    while (!text.empty()) {
      const auto sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

 private:
  static bool is_whole(const std::string& text) {
    const auto end = text.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    const auto length = text.find("Content-Length: ");
    if (length == std::string::npos || length > end) return true;
    return text.size() >= end + 4 + std::strtoul(text.c_str() + length + 16, nullptr, 10);
  }

  void serve(const Talk& talk) {
    while (true) {
      const Descriptor socket(::accept(listener_.get(), nullptr, nullptr));
      if (!socket.is_open()) return;
      {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
        current_ = socket.get();
      }
      talk(socket.get());
      const std::lock_guard lock(mutex_);
      current_ = -1;
    }
  }

  std::uint16_t port_ = 0;
  Descriptor listener_;
  std::mutex mutex_;
  bool stopping_ = false;
  int current_ = -1;
  std::thread thread_;
};

}  // namespace jobbie::net
