// The checks of a command that need no state: bounds, characters, enums, things that exclude one
// another.
//
// The engine calls this before it looks at anything else, so a command that came through the log
// from an older or odd node is refused in the same way on every replica. Pure and total: any value,
// however odd, gives an answer. A command that passes costs no allocation, and a field at its
// default costs one comparison, because this runs for every enqueue, claim and ack.
//
// Whether payloads and results are JSON is not asked here: the faces parsed them, and doing it
// again would be the largest cost of an enqueue. Tags and callback payloads must be objects, since
// the engine looks into them.
#pragma once

#include <optional>

#include "command/command.hpp"
#include "command/reply.hpp"

namespace jobbie::command {

/// The first value out of bounds, or nothing. The refusal's code is Refused::invalid, its field the
/// name on the wire; inside EnqueueMany the job's position stands before it: `jobs[3].queue`.
/// A heartbeat is not refused for one odd job in it: nil ids in beats pass, and are `unknown`.
[[nodiscard]] std::optional<Refusal> validate(const Command& command);

}  // namespace jobbie::command
