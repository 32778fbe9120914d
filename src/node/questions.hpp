// Questions about jobs, batches, queues, groups, workers and schedules, answered from the engine.
#pragma once

#include "call/call.hpp"
#include "engine/engine.hpp"

namespace jobbie::node {

/// On the node's thread. False: the engine does not know, and the database has to be asked. Each
/// answer is bounded by the page that was asked for.
[[nodiscard]] bool answer_from_engine(const engine::Engine& engine, call::Call& call);

}  // namespace jobbie::node
