// The terms of all entries in the log, as runs: a term changes only with an election.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "consensus/core.hpp"

namespace jobbie::log {

class TermRuns {
 public:
  /// An empty log behind `base`.
  void reset(const consensus::Position& base);
  /// The entry at `at.index` is written; what was there and behind it is gone.
  void append(const consensus::Position& at);
  /// Entries up to `index` are forgotten.
  void cut(std::uint64_t index);

  [[nodiscard]] std::optional<std::uint64_t> term(std::uint64_t index) const;
  [[nodiscard]] const consensus::Position& base() const { return base_; }
  [[nodiscard]] consensus::Position last() const;
  [[nodiscard]] std::span<const consensus::TermRun> runs() const { return runs_; }

 private:
  consensus::Position base_;
  std::uint64_t last_index_ = 0;
  std::vector<consensus::TermRun> runs_;
};

}  // namespace jobbie::log
