// For tests of the engine alone: no job has ended before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/engine.hpp"

namespace jobbie::engine {

class NothingEnded final : public EndedJobs {
 public:
  std::optional<model::JobRecord> find(base::JobId /*id*/) override { return std::nullopt; }
  std::vector<model::JobRecord> dead_in_group(std::string_view, std::uint64_t, std::uint64_t,
                                              std::size_t) override {
    return {};
  }
};

}  // namespace jobbie::engine
