// Calls that other nodes have forwarded: made from a frame, answered with one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "call/call.hpp"
#include "cluster/messages.hpp"
#include "peer/transport.hpp"

namespace jobbie::node {

/// Sends replies back where the calls came from; from any thread. Those for a node that we are not
/// connected with wait until we are: it may well have a connection to us.
class RemoteInbox final : public call::Inbox {
 public:
  explicit RemoteInbox(peer::Transport& transport) : transport_(transport) {}
  void deliver(std::vector<std::unique_ptr<call::Call>> calls) override;
  /// Everything up to here is applied: what is delivered from now on is part of it.
  void applied(std::uint64_t index) { index_.store(index, std::memory_order_relaxed); }
  /// Tries again; to be called now and then.
  void send_kept(std::int64_t now_us);

 private:
  struct Kept {
    std::int64_t since_us = 0;  ///< zero: not looked at yet
    std::deque<std::string> replies;
  };
  static constexpr std::size_t kMaxKeptBytes = std::size_t{16} << 20;
  void send(std::uint64_t node, std::string bytes);
  [[nodiscard]] bool pass(std::uint64_t node, const std::string& bytes);

  peer::Transport& transport_;
  std::atomic<std::uint64_t> index_ = 0;
  std::mutex mutex_;  ///< guards what is kept
  std::map<std::uint64_t, Kept> kept_;
  std::size_t kept_bytes_ = 0;
};

class RemoteCall final : public call::Call {
 public:
  RemoteCall(RemoteInbox& inbox, std::uint64_t from, std::uint64_t number)
      : Call(inbox), from_(from), number_(number) {}
  void finish() override {}
  [[nodiscard]] std::uint64_t from() const { return from_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  std::uint64_t from_;
  std::uint64_t number_;
};

/// Those that may wait for a job, so that they can be called off.
class RemoteWaiters {
 public:
  void add(std::uint64_t from, std::uint64_t number,
           const std::shared_ptr<std::atomic<bool>>& hung_up) {
    waiting_[{from, number}] = hung_up;
  }
  void cancel(std::uint64_t from, std::uint64_t number);
  /// All of that node's.
  void cancel_all(std::uint64_t from);
  /// Forgets those that have been answered.
  void tidy();

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<std::atomic<bool>>> waiting_;
};

}  // namespace jobbie::node
