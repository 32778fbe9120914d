// For tests: stands between two transports and passes on, changes, repeats, stops or cuts.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <poll.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace jobbie::peer {

/// A socket of a test, connected to 127.0.0.1 or listening there; gives up after a few seconds.
class TestSocket {
 public:
  TestSocket() = default;
  explicit TestSocket(int fd) : fd_(fd) {}
  TestSocket(TestSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  TestSocket& operator=(TestSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~TestSocket() {
    if (fd_ >= 0) ::close(fd_);
  }
  static TestSocket connect(std::uint16_t port) {
    TestSocket out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto to = loopback(port);
    if (::connect(out.fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return {};
    return out;
  }
  static TestSocket listen(std::uint16_t& port) {
    TestSocket out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto at = loopback(0);
    socklen_t size = sizeof at;
    ::bind(out.fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at);
    ::listen(out.fd_, 64);
    ::getsockname(out.fd_, reinterpret_cast<sockaddr*>(&at), &size);
    port = ntohs(at.sin_port);
    return out;
  }
  [[nodiscard]] int fd() const { return fd_; }
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// All that comes until the other side closes, or until so many bytes are there.
  [[nodiscard]] std::string receive(std::size_t most = SIZE_MAX) const {
    std::string out;
    std::array<char, 4096> buffer{};
    while (out.size() < most) {
      pollfd wanted{.fd = fd_, .events = POLLIN, .revents = 0};
      if (::poll(&wanted, 1, 10'000) <= 0) return out + "<timeout>";
      const auto got = ::recv(fd_, buffer.data(), std::min(buffer.size(), most - out.size()), 0);
      if (got <= 0) break;
      out.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return out;
  }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(port);
    out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return out;
  }
  int fd_ = -1;
};

class TestRelay {
 public:
  enum class Way : std::uint8_t { there, back };
  /// May change what passes; what it leaves is passed on. On the relay's thread.
  using Change = std::function<void(Way, std::string&)>;

  explicit TestRelay(std::uint16_t to) : to_(to), listener_(TestSocket::listen(port_)) {
    thread_ = std::thread([this] { run(); });
  }
  ~TestRelay() {
    stopping_ = true;
    thread_.join();
  }
  TestRelay(const TestRelay&) = delete;
  TestRelay& operator=(const TestRelay&) = delete;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void change(Change change) {
    const std::lock_guard lock(mutex_);
    change_ = std::move(change);
  }
  std::atomic<bool> stalled = false;      ///< nothing is read any more
  std::atomic<bool> cut = false;          ///< all connections are closed, once
  std::atomic<std::uint64_t> passed = 0;  ///< bytes

 private:
  struct Pair {
    TestSocket from;
    TestSocket to;
    bool broken = false;
  };
  void run() {
    while (!stopping_) {
      if (cut.exchange(false)) pairs_.clear();
      std::vector<pollfd> wanted{{.fd = listener_.fd(), .events = POLLIN, .revents = 0}};
      if (!stalled)
        for (const auto& pair : pairs_)
          for (const int fd : {pair.from.fd(), pair.to.fd()})
            wanted.push_back({.fd = fd, .events = POLLIN, .revents = 0});
      if (::poll(wanted.data(), wanted.size(), 5) <= 0) continue;
      const bool comes = wanted.front().revents != 0;
      for (std::size_t i = 1; i < wanted.size(); ++i)
        if (wanted[i].revents != 0) pass(pairs_[(i - 1) / 2], i % 2 == 1 ? Way::there : Way::back);
      std::erase_if(pairs_, [](const Pair& pair) { return pair.broken; });
      if (comes)
        pairs_.push_back({.from = TestSocket(::accept(listener_.fd(), nullptr, nullptr)),
                          .to = TestSocket::connect(to_)});
    }
  }
  void pass(Pair& pair, Way way) {
    if (pair.broken) return;
    std::string bytes(65536, '\0');
    const auto& from = way == Way::there ? pair.from : pair.to;
    const auto& to = way == Way::there ? pair.to : pair.from;
    const auto got = ::recv(from.fd(), bytes.data(), bytes.size(), 0);
    if (got <= 0) {
      pair.broken = true;
      return;
    }
    bytes.resize(static_cast<std::size_t>(got));
    passed += bytes.size();
    {
      const std::lock_guard lock(mutex_);
      if (change_) change_(way, bytes);
    }
    if (!to.send(bytes)) pair.broken = true;
  }

  const std::uint16_t to_;
  std::uint16_t port_ = 0;
  TestSocket listener_;
  std::vector<Pair> pairs_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  Change change_;
  std::thread thread_;
};

}  // namespace jobbie::peer
