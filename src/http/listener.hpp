// The listening socket: accepts, counts, and hands connections to the loop that has fewest.
//
// Internal to this folder. Belongs to the thread of the first loop once it is started.
#pragma once

#include <memory>
#include <vector>

#include "base/result.hpp"
#include "http/asio.hpp"
#include "http/event_loop.hpp"

namespace jobbie::http {

class Listener {
 public:
  /// `loops` has at least one, and outlives this.
  Listener(const std::vector<std::unique_ptr<EventLoop>>& loops, Shared& shared);

  base::Result<void> open(const std::string& host, std::uint16_t port);
  [[nodiscard]] std::uint16_t port() const { return port_; }
  void accept_next();
  void close();

 private:
  void accept_burst();
  /// False if accepting has to rest.
  bool accept_one(bool& any);
  [[nodiscard]] bool admit(const std::string& address);
  void hand_over(int descriptor, const asio::ip::tcp::endpoint& from);
  void rest();

  const std::vector<std::unique_ptr<EventLoop>>& loops_;
  Shared& shared_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer timer_;
  std::uint16_t port_ = 0;
};

}  // namespace jobbie::http
