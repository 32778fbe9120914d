// What comes from other nodes, and from threads that work for this one, on its way to the node's
// thread: a bounded queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "node/intake.hpp"
#include "peer/transport.hpp"

namespace jobbie::node {

struct Frame {
  std::uint64_t from = 0;
  std::uint8_t kind = 0;
  std::string bytes;
};
/// Our connection to a node stands, or no longer does.
struct Link {
  std::uint64_t node = 0;
  bool up = false;
};
/// What became of a snapshot that was sent.
struct Sent {
  std::uint64_t node = 0;
  bool arrived = false;
};
/// What this node has sent may be lost.
struct Unheard {
  std::uint64_t node = 0;
};
using Letter = std::variant<peer::Hello, Frame, Link, peer::Incoming, Sent, Unheard>;

/// Any thread puts, one thread takes. Frames that find it full are lost, as they may be on any
/// network.
class Mailbox final : public peer::Handler {
 public:
  static constexpr std::size_t kFrameBytes = std::size_t{256} << 20;

  /// `intake` is woken for whatever comes; it must outlive the mailbox.
  explicit Mailbox(Intake& intake) : intake_(intake) {}

  void put(Letter letter);
  /// Moves everything that is there into `into`, which is cleared first.
  void take(std::vector<Letter>& into);

  void on_hello(const peer::Hello& hello) override { put(hello); }
  void on_frame(std::uint64_t from, std::uint8_t kind, std::string bytes) override;
  void on_connected(std::uint64_t node) override { put(Link{node, true}); }
  void on_lost(std::uint64_t node) override { put(Link{node, false}); }
  void on_unheard(std::uint64_t node) override { put(Unheard{node}); }
  void on_snapshot(peer::Incoming snapshot) override { put(std::move(snapshot)); }

 private:
  Intake& intake_;
  std::mutex mutex_;
  std::vector<Letter> letters_;
  std::size_t frame_bytes_ = 0;
};

}  // namespace jobbie::node
