// How nodes without a log become a cluster, or part of one.
//
// A value that is told what is seen and says what to do; it knows neither clock nor socket. The
// rule that keeps two halves from forming two clusters: a new one is founded only when all nodes
// that were announced are there and none of them has a log, and only by the one with the lowest id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "log/configuration.hpp"
#include "peer/hello.hpp"

namespace jobbie::cluster {

class Forming {
 public:
  /// `self` has no log; `cluster_id` is what a cluster that it founds will be called.
  Forming(peer::Hello self, std::uint64_t cluster_id) : self_(std::move(self)), id_(cluster_id) {}

  /// How many nodes there have to be for a new cluster, this one included.
  void expect(std::size_t nodes) { expected_ = nodes; }
  void note(const peer::Hello& hello);
  /// What we dialled stands, or no longer does.
  void connected(std::uint64_t node) { reached_.insert(node); }
  void lost(std::uint64_t node);

  struct Step {
    enum class Kind : std::uint8_t {
      wait,
      join,   ///< ask the one in `to` to be taken in
      found,  ///< send the founders to all in `to`, and begin when a majority has begun
    };
    Kind kind = Kind::wait;
    std::vector<std::uint64_t> to;
  };
  [[nodiscard]] Step next() const;

  /// Everybody who is there and has no log, this node included: voters of the new cluster.
  [[nodiscard]] log::Configuration founders();
  /// A founder has begun; whether this node may begin too.
  bool begun(std::uint64_t node);
  /// Whether this node takes somebody else's founders: it is one of them, and has not proposed any
  /// itself, unless the other one has the lower id.
  [[nodiscard]] bool accepts(std::uint64_t from, const log::Configuration& founders) const;

  [[nodiscard]] std::size_t seen() const;  ///< nodes that are there, this one included
  [[nodiscard]] std::size_t expected() const { return expected_; }
  /// A name that two of them have, which keeps them from becoming a cluster; empty: none.
  [[nodiscard]] std::string clash() const;

 private:
  [[nodiscard]] std::vector<const peer::Hello*> fresh() const;

  peer::Hello self_;
  std::uint64_t id_;
  std::size_t expected_ = 0;
  std::map<std::uint64_t, peer::Hello> known_;
  std::set<std::uint64_t> reached_;
  log::Configuration proposed_;  ///< no members: nothing yet
  std::set<std::uint64_t> begun_;
};

}  // namespace jobbie::cluster
