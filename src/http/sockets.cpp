// The epoll set. A connection's id travels through it, so a late event finds nobody.
#include "http/sockets.hpp"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

#include "base/check.hpp"

namespace jobbie::http {
namespace {

epoll_event event_for(ConnectionId id, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = (static_cast<std::uint64_t>(id.generation) << 32) | id.index;
  return event;
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

SocketSet::SocketSet(asio::io_context& context) : set_(context) {
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  JOBBIE_CHECK(set >= 0);
  set_.assign(set);
}

bool SocketSet::add(const Socket& socket, ConnectionId id) {
  auto event = event_for(id, 0);
  return ::epoll_ctl(set_.native_handle(), EPOLL_CTL_ADD, socket.get(), &event) == 0;
}

void SocketSet::watch(const Socket& socket, ConnectionId id, std::uint32_t events) {
  auto event = event_for(id, events);
  JOBBIE_CHECK(::epoll_ctl(set_.native_handle(), EPOLL_CTL_MOD, socket.get(), &event) == 0);
}

std::span<const SocketSet::Ready> SocketSet::take() {
  const int count =
      ::epoll_wait(set_.native_handle(), events_.data(), static_cast<int>(events_.size()), 0);
  JOBBIE_CHECK(count >= 0 || errno == EINTR);
  std::size_t taken = 0;
  for (; taken < static_cast<std::size_t>(std::max(count, 0)); ++taken) {
    const std::uint64_t key = events_[taken].data.u64;
    ready_[taken] = {.id = {.index = static_cast<std::uint32_t>(key),
                            .generation = static_cast<std::uint32_t>(key >> 32)},
                     .events = events_[taken].events};
  }
  return {ready_.data(), taken};
}

}  // namespace jobbie::http
