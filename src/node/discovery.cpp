// getaddrinfo blocks, so it has a thread.
#include "node/discovery.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <netdb.h>

#include <sys/socket.h>

namespace jobbie::node {
namespace {

constexpr std::chrono::seconds kPause{2};

}  // namespace

Discovery::Discovery(std::string name) {
  const auto colon = name.rfind(':');
  host_ = name.substr(0, colon);
  port_ = colon == std::string::npos ? "" : name.substr(colon + 1);
  thread_ = std::thread([this] { run(); });
}

Discovery::~Discovery() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::vector<std::string> Discovery::addresses() const {
  const std::lock_guard lock(mutex_);
  return found_;
}

std::vector<std::string> Discovery::resolve() const {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  std::vector<std::string> out;
  if (getaddrinfo(host_.c_str(), nullptr, &hints, &first) != 0) return out;
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0)
      continue;
    const std::string host = text.data();
    out.push_back((one->ai_family == AF_INET6 ? "[" + host + "]" : host) + ":" + port_);
  }
  freeaddrinfo(first);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void Discovery::run() {
  while (true) {
    auto found = resolve();
    std::unique_lock lock(mutex_);
    // A name that cannot be resolved for a while has not lost its nodes.
    if (!found.empty()) found_ = std::move(found);
    if (changed_.wait_for(lock, kPause, [this] { return stopping_; })) return;
  }
}

}  // namespace jobbie::node
