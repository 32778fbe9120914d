// The port: who comes in, who is turned away, and the connections that others dialled.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "peer/link.hpp"
#include "peer/snapshots.hpp"

namespace jobbie::peer {

/// Remembers addresses for a minute: how fast they come, and whether it was said that they are
/// refused.
class Visitors {
 public:
  explicit Visitors(Common& common) : common_(common) {}
  /// False if this address comes too often.
  bool admit(const std::string& address);
  /// One line per address and minute, with the number of those that got none.
  void refused(const std::string& address, const base::Error& why);

 private:
  /// More addresses than this in a minute are neither slowed down nor written about.
  static constexpr std::size_t kMaxAddresses = 4096;
  struct Visitor {
    std::int64_t second = 0;
    std::size_t in_second = 0;
    std::int64_t told_ms = 0;  ///< 0: not yet
    std::uint64_t untold = 0;
    std::int64_t last_ms = 0;
  };
  Visitor* find(const std::string& address);

  Common& common_;
  std::map<std::string, Visitor> visitors_;
};

/// Belongs to the transport's thread.
class Door : public Link::Owner {
 public:
  Door(Common& common, SnapshotReceiver& snapshots);
  ~Door() override;

  base::Result<void> open();
  [[nodiscard]] std::uint16_t port() const { return port_; }
  void accept();
  /// Everybody has to come in again.
  void redo();
  void tick();
  void stop();
  /// Those that dialled us, by node.
  [[nodiscard]] std::map<std::uint64_t, Status> status() const;

 private:
  using Links = std::vector<std::shared_ptr<Link>>;  ///< see Link

  void link_open(Link& link) override;
  void link_frame(Link& link, Frame frame) override;
  void link_closed(Link& link, const base::Error& why) override;

  void accept_burst();
  void accept_later();
  void meet(int descriptor);
  void drop_all();
  [[nodiscard]] Links everybody() const;

  Common& common_;
  SnapshotReceiver& snapshots_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer timer_;
  std::uint16_t port_ = 0;
  Visitors visitors_;
  Links strangers_;
  std::map<std::uint64_t, Links> nodes_;
  std::map<std::uint64_t, std::uint64_t> old_received_bytes_;  ///< of earlier links, by node
};

}  // namespace jobbie::peer
