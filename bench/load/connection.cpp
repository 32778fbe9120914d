// Opening, sending and receiving on a socket.
#include "bench/load/connection.hpp"

#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace jobbie::bench::load {
namespace {

constexpr std::size_t kFirstBuffer = 16 * 1024;
/// The answer to a fetch of a thousand jobs has some hundred kilobytes.
constexpr std::size_t kLargestBuffer = 64 * 1024 * 1024;

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Connection::Connection(Descriptor fd) : fd_(std::move(fd)), in_(kFirstBuffer) {}

std::expected<Connection, std::string> Connection::open(std::uint16_t port) {
  Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how the socket interface is made
  if (fd.get() < 0 ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return std::unexpected(fmt::format("connecting to port {}: {}", port, std::strerror(errno)));
  const int on = 1;
  if (::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
    return std::unexpected(fmt::format("TCP_NODELAY: {}", std::strerror(errno)));
  return Connection(std::move(fd));
}

void Connection::drop(std::size_t bytes) {
  begin_ += bytes;
  if (begin_ == end_) begin_ = end_ = 0;
}

bool Connection::flush() {
  while (sent_ < out_.size()) {
    const auto n =
        ::send(fd(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN;
    sent_ += static_cast<std::size_t>(n);
  }
  out_.clear();
  sent_ = 0;
  return true;
}

bool Connection::receive() {
  if (end_ == in_.size()) {
    // An answer that does not fit: first to the front, then into a larger buffer.
    if (begin_ > 0) {
      std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    } else if (in_.size() < kLargestBuffer) {
      in_.resize(in_.size() * 4);
    } else {
      return false;
    }
  }
  const auto n = ::recv(fd(), in_.data() + end_, in_.size() - end_, MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN;
  end_ += static_cast<std::size_t>(n);
  return n > 0;
}

}  // namespace jobbie::bench::load
