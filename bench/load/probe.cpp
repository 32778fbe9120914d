// The three probes.
#include "bench/load/probe.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "bench/load/connection.hpp"

namespace jobbie::bench::load {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kSeconds = 0.5;
constexpr std::uint64_t kSpinSteps = 100'000'000;
constexpr std::size_t kBlock = 4096;
constexpr std::size_t kBlocks = 1024;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double spin_ms() {
  const auto start = Clock::now();
  std::uint64_t value = 88172645463325252;
  for (std::uint64_t i = 0; i < kSpinSteps; ++i) {
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
  }
  const volatile std::uint64_t kept = value;  // Or the compiler drops the loop.
  static_cast<void>(kept);
  return since(start) * 1000;
}

std::expected<double, std::string> syncs_per_second(const std::string& directory) {
  const auto path = directory + "/probe";
  const Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const std::vector<char> block(kBlock, 'x');
  const auto fail = [&] {
    return std::unexpected(fmt::format("{}: {}", path, std::strerror(errno)));
  };
  const auto write_block = [&](std::size_t number) {
    return ::pwrite(fd.get(), block.data(), kBlock, static_cast<off_t>(number * kBlock)) ==
           static_cast<ssize_t>(kBlock);
  };
  if (fd.get() < 0) return fail();
  ::unlink(path.c_str());
  for (std::size_t i = 0; i < kBlocks; ++i) {
    if (!write_block(i)) return fail();
  }
  if (::fsync(fd.get()) != 0) return fail();
  const auto start = Clock::now();
  std::size_t syncs = 0;
  for (; since(start) < kSeconds; ++syncs) {
    if (!write_block(syncs % kBlocks) || ::fdatasync(fd.get()) != 0) return fail();
  }
  return static_cast<double>(syncs) / since(start);
}

/// Answers each byte with one until the other side closes.
void echo(int listener) {
  const Descriptor fd(::accept(listener, nullptr, nullptr));
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  char byte = 0;
  while (::recv(fd.get(), &byte, 1, 0) == 1) {
    if (::send(fd.get(), &byte, 1, MSG_NOSIGNAL) != 1) return;
  }
}

std::expected<double, std::string> pings_per_second() {
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (listener.get() < 0 || ::bind(listener.get(), generic, length) != 0 ||
      ::listen(listener.get(), 1) != 0 || ::getsockname(listener.get(), generic, &length) != 0)
    return std::unexpected(fmt::format("listening: {}", std::strerror(errno)));
  const auto port = ntohs(address.sin_port);
  const std::jthread server([&] { echo(listener.get()); });
  const auto connection = Connection::open(port);
  if (!connection) {
    ::shutdown(listener.get(), SHUT_RDWR);  // Wakes the thread that would wait for ever.
    return std::unexpected(connection.error());
  }
  const auto start = Clock::now();
  std::size_t pings = 0;
  for (char byte = 0; since(start) < kSeconds; ++pings) {
    if (::send(connection->fd(), &byte, 1, MSG_NOSIGNAL) != 1 ||
        ::recv(connection->fd(), &byte, 1, 0) != 1)
      return std::unexpected("the echo over loopback broke off");
  }
  const auto seconds = since(start);
  ::shutdown(connection->fd(), SHUT_RDWR);
  return static_cast<double>(pings) / seconds;
}

}  // namespace

std::expected<Probe, std::string> probe(const std::string& directory) {
  Probe out;
  out.spin_ms = spin_ms();
  const auto syncs = syncs_per_second(directory);
  if (!syncs) return std::unexpected(syncs.error());
  out.syncs_per_second = *syncs;
  const auto pings = pings_per_second();
  if (!pings) return std::unexpected(pings.error());
  out.pings_per_second = *pings;
  return out;
}

}  // namespace jobbie::bench::load
