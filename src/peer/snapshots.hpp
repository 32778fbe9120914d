// Snapshots on their way out and in, each on a connection and a thread of its own, so that neither
// the disk nor a slow receiver holds up anything else.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "peer/link.hpp"
#include "peer/talk.hpp"
#include "peer/workers.hpp"

namespace jobbie::peer {

class SnapshotSender {
 public:
  explicit SnapshotSender(Common& common)
      : common_(common), workers_(common.io, common.limits().sending) {}

  using Done = std::function<void(base::Result<void>)>;
  struct Order {
    std::uint64_t node = 0;
    std::string header;
    std::string path;
    Done done;
  };
  /// On the transport's thread; `to` is where the node was reached.
  void send(Order order, const asio::ip::tcp::endpoint& to);
  /// Any other thread, while the transport's runs.
  void stop();

 private:
  base::Result<void> run(const Order& order, const asio::ip::tcp::endpoint& to,
                         const Greeting& self);
  void report(const Order& order, const base::Result<void>& result);

  Common& common_;
  std::atomic<bool> stopping_ = false;
  Workers workers_;
};

class SnapshotReceiver {
 public:
  explicit SnapshotReceiver(Common& common)
      : common_(common), workers_(common.io, common.limits().receiving) {}

  /// On the transport's thread: the link is open and its purpose is a snapshot.
  void receive(Link& link);
  /// Any thread.
  void finish(std::uint64_t token, bool taken);
  /// Any other thread, while the transport's runs.
  void stop();

 private:
  struct Offer {
    std::string path;
    std::optional<bool> taken;
  };
  void run(Talk talk);
  base::Result<Incoming> take_file(Talk& talk);
  /// Gives it to the handler and waits for the answer; the sender is told meanwhile that we live.
  base::Result<void> offer(Talk& talk, Incoming incoming);

  Common& common_;
  std::atomic<bool> stopping_ = false;
  Workers workers_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable answered_;
  std::map<std::uint64_t, Offer> offers_;
  std::uint64_t last_token_ = 0;
};

}  // namespace jobbie::peer
