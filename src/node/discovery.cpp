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

Discovery::Discovery(const std::string& name, bool only_ipv4, base::Journal* journal)
    : only_ipv4_(only_ipv4), journal_(journal) {
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

std::vector<std::string> Discovery::resolve(std::string& trouble) const {
  addrinfo hints{};
  hints.ai_family = only_ipv4_ ? AF_INET : AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  std::vector<std::string> out;
  if (const int failed = getaddrinfo(host_.c_str(), nullptr, &hints, &first); failed != 0) {
    trouble = gai_strerror(failed);
    return out;
  }
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

/// A line when what the name stands for has changed, or when it stands for nothing any more.
void Discovery::tell(const std::vector<std::string>& found, const std::string& trouble) {
  std::string all;
  for (const auto& address : found) all += (all.empty() ? "" : ",") + address;
  const auto& now = trouble.empty() ? all : trouble;
  if (journal_ == nullptr || now == told_) return;
  told_ = now;
  if (trouble.empty())
    journal_->write(base::Level::info, "discovered",
                    {{"name", std::string_view(host_)}, {"addresses", std::string_view(all)}});
  else
    journal_->write(base::Level::warning, "name_not_resolved",
                    {{"name", std::string_view(host_)}, {"message", std::string_view(trouble)}});
}

void Discovery::run() {
  while (true) {
    std::string trouble;
    auto found = resolve(trouble);
    tell(found, trouble);
    std::unique_lock lock(mutex_);
    // A name that cannot be resolved for a while has not lost its nodes.
    if (!found.empty()) found_ = std::move(found);
    if (changed_.wait_for(lock, kPause, [this] { return stopping_; })) return;
  }
}

}  // namespace jobbie::node
