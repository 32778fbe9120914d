// Calls that are away: forwarded to the leader and not answered yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "call/call.hpp"
#include "peer/transport.hpp"

namespace jobbie::node {

/// A call that cannot be dealt with at once.
struct Held {
  std::unique_ptr<call::Call> call;
  std::size_t bytes = 0;
  std::int64_t since_us = 0;
  std::int64_t wait_until_us = 0;  ///< of a claim that may wait
};

/// Whether doing it twice is the same as doing it once, for whoever asked: a claim whose reply was
/// lost is a lease that ends.
[[nodiscard]] bool is_repeatable(const call::Call& call);

class Forwarder {
 public:
  explicit Forwarder(peer::Transport& transport) : transport_(transport) {}

  /// False: it cannot be sent now, and is left where it is.
  [[nodiscard]] bool send(Held& held, std::uint64_t leader, std::int64_t now_us);
  /// The call with that number, if it is away.
  [[nodiscard]] Held take(std::uint64_t number);
  /// Everything that is away at that node.
  [[nodiscard]] std::vector<Held> take_all(std::uint64_t node);
  [[nodiscard]] std::vector<Held> take_all();
  /// Those that should have come back long ago.
  [[nodiscard]] std::vector<Held> take_overdue(std::int64_t now_us);
  /// Those whose leader has had a successor for a while and does not answer: it may be cut off, and
  /// a connection over which nothing comes is noticed late. `leader` is 0 where nobody is known.
  [[nodiscard]] std::vector<Held> take_superseded(std::uint64_t leader, std::int64_t now_us);
  /// Tells the leader of those that nobody waits for any more; with `all`, of all that may wait.
  void call_off(bool all);
  [[nodiscard]] std::size_t size() const { return away_.size(); }

 private:
  struct Away {
    Held held;
    std::uint64_t node = 0;
    std::int64_t overdue_us = 0;
    std::int64_t superseded_us = 0;
    bool called_off = false;
  };
  template <typename Predicate>
  [[nodiscard]] std::vector<Held> take_if(Predicate predicate);

  std::map<std::uint64_t, Away> away_;
  std::uint64_t next_ = 1;
  peer::Transport& transport_;
};

}  // namespace jobbie::node
