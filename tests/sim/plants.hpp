// Planted bugs: their names, and the test that the simulator finds every one of them.
#pragma once

#include <optional>
#include <string_view>

#include "engine/options.hpp"
#include "tests/sim/runner.hpp"

namespace jobbie::sim {

/// Nothing for an unknown name, and for any but `none` in a build without planted bugs.
std::optional<engine::Plant> plant_called(std::string_view name);
std::string_view plant_name(engine::Plant plant);

/// Runs each plant until it is found, 60 seconds at most, and a build without one for a few seeds.
/// The process's exit code.
int test_plants(const RunOptions& options);

}  // namespace jobbie::sim
