// What the seeds have reached: each verb with each kind of answer, and each change of state.
//
// A simulator that never does something proves nothing about it. So the runs count, and a run of
// many seeds fails if something that can happen never did.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "command/reply.hpp"
#include "tests/sim/model.hpp"
#include "tests/sim/personality.hpp"

namespace jobbie::sim {

/// Kinds of answers: refusals first, then what the verb makes of success (see coverage.cpp).
inline constexpr std::size_t kAnswers = 64;
inline constexpr std::size_t kRefusals = 13;

/// Plain counters, so that processes can share and add them.
struct Coverage {
  std::array<std::array<std::uint64_t, kAnswers>, kVerbs> answers{};
  Reached reached;
  std::uint64_t reloads = 0;
  std::uint64_t twins = 0;
  std::uint64_t ready_hints = 0;
  std::uint64_t idle_claims = 0;

  void count(const command::Command& command, const command::Reply& reply);
  void add(const Coverage& other);
  void add(const Reached& other);

  /// Deadlines, tasks, reloads and the like, by name.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> milestones() const;
  /// All counters, one a line.
  [[nodiscard]] std::string table() const;
  /// What should have been seen and was not.
  [[nodiscard]] std::vector<std::string> missing() const;
};

}  // namespace jobbie::sim
