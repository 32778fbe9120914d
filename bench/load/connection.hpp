// One TCP connection to the server on this machine: non-blocking, with its buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace jobbie::bench::load {

/// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// One thread. Bytes to send are appended to `out()`; received ones are read from `in()`.
class Connection {
 public:
  [[nodiscard]] static std::expected<Connection, std::string> open(std::uint16_t port);

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::string& out() { return out_; }
  [[nodiscard]] std::string_view in() const { return {in_.data() + begin_, end_ - begin_}; }
  void drop(std::size_t bytes);

  /// Sends what the kernel takes. False if the connection is gone.
  [[nodiscard]] bool flush();
  [[nodiscard]] bool all_sent() const { return out_.empty(); }
  /// Receives what is there, at most one buffer full. False if the connection is gone.
  [[nodiscard]] bool receive();

 private:
  explicit Connection(Descriptor fd);

  Descriptor fd_;
  std::string out_;
  std::size_t sent_ = 0;  ///< of out_
  std::vector<char> in_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace jobbie::bench::load
