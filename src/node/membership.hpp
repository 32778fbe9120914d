// Who belongs to the cluster, as the leader sees to it: newcomers, learners that have caught up,
// addresses that have changed, and what people ask for. Every node uses it to know whom to dial.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/journal.hpp"
#include "call/call.hpp"
#include "log/log.hpp"
#include "peer/transport.hpp"

namespace jobbie::node {

class Membership {
 public:
  struct Context {
    log::Log& log;
    peer::Transport& transport;
    base::Journal* journal = nullptr;
    peer::Hello self;
  };
  /// Answers somebody who asked for a change: a call of this node, or one that came in a frame.
  using Answer = std::function<void(call::ClusterAnswer)>;

  explicit Membership(Context context);

  /// Addresses that the node was started with, or that a name stands for now.
  void announce(std::vector<std::string> addresses);
  void note(const peer::Hello& hello, std::int64_t now_us);
  void link(std::uint64_t node, bool up);
  [[nodiscard]] bool linked(std::uint64_t node) const { return links_.contains(node); }
  /// The configuration has changed.
  void configured();

  /// A newcomer asks to be taken in; on a node that does not lead the question is handed on.
  void join(const log::Member& member);
  /// A node that is no member comes or talks as if it were one: it was away when it was removed.
  void tell_of_removal(std::uint64_t node, std::int64_t now_us);
  /// On the leader.
  void ask(const call::ClusterChange& change, std::int64_t now_us, Answer answer);
  /// From time to time.
  void upkeep(std::int64_t now_us, bool leads);
  /// What was asked for and is not done is answered with `code`.
  void give_up(const std::string& code, const std::string& message);

  /// Those whom leadership could go to: connected voters, the best prepared first.
  [[nodiscard]] std::vector<std::uint64_t> heirs() const;
  [[nodiscard]] std::vector<call::NodeRow> rows() const;
  [[nodiscard]] const peer::Hello& self() const { return self_; }

 private:
  struct Request {
    call::ClusterChange change;
    Answer answer;
    std::int64_t asked_us = 0;
    bool begun = false;
  };
  enum class Progress : std::uint8_t { goes_on, done };

  Progress further(Request& request, std::int64_t now_us);
  Progress transfer(Request& request);
  Progress remove(Request& request, std::int64_t now_us);
  Progress add(Request& request);
  [[nodiscard]] bool is_heard_of(const std::string& address) const;
  [[nodiscard]] call::ClusterAnswer quorum_without(const log::Member& member) const;
  void propose(const log::Change& change);
  void promote_learners();
  void update_addresses();
  void dial();

  log::Log& log_;
  peer::Transport& transport_;
  base::Journal* journal_;
  peer::Hello self_;
  std::vector<std::string> announced_;
  std::set<std::string> invited_;  ///< addresses of nodes that somebody wants to add
  std::map<std::uint64_t, peer::Hello> hellos_;
  std::map<std::uint64_t, std::int64_t> strangers_;  ///< no members, and when they were last heard
  std::set<std::uint64_t> links_;
  std::deque<Request> requests_;
  std::vector<std::string> dialled_;
};

}  // namespace jobbie::node
