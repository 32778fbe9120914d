// The port through which the engine asks for jobs that have ended and left its memory.
//
// Whoever implements it answers from all changes that the engine has handed out so far, in order.
// That makes the answer the same on every replica, whenever each of them wrote its changes down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/id.hpp"
#include "model/job.hpp"

namespace jobbie::engine {

class EndedJobs {
 public:
  virtual ~EndedJobs() = default;

  /// The job, if it has ended and is kept.
  virtual std::optional<model::JobRecord> find(base::JobId id) = 0;

  /// Up to `limit` dead jobs of a group with after < sequence ≤ upto, in order of sequence.
  virtual std::vector<model::JobRecord> dead_in_group(std::string_view group, std::uint64_t after,
                                                      std::uint64_t upto, std::size_t limit) = 0;
};

}  // namespace jobbie::engine
