// Replies, events and state as the lines of a trace. Values at their default are left out.
#pragma once

#include <string>

#include "command/command.hpp"
#include "command/event.hpp"
#include "command/reply.hpp"
#include "engine/why.hpp"
#include "model/job.hpp"
#include "model/queue.hpp"
#include "model/records.hpp"
#include "script/names.hpp"

namespace jobbie::script {

/// Whole lines, each with its line break.
[[nodiscard]] std::string print(const command::Reply& reply, const command::Command& command,
                                const Names& names);
[[nodiscard]] std::string print(const command::Event& event, const Names& names);
[[nodiscard]] std::string print(const model::JobRecord& job, const Names& names);
[[nodiscard]] std::string print_errors(const model::JobRecord& job, const Names& names);
[[nodiscard]] std::string print(const model::QueueView& queue, const Names& names);
[[nodiscard]] std::string print_totals(const model::QueueView& queue);
[[nodiscard]] std::string print(const model::GroupView& group);
[[nodiscard]] std::string print(const model::BatchRecord& batch, const Names& names);
[[nodiscard]] std::string print(const model::ScheduleRecord& schedule, const Names& names);
[[nodiscard]] std::string print(const model::WorkerRecord& worker, const Names& names);
[[nodiscard]] std::string print(const engine::Why& why, const std::string& job, const Names& names);

}  // namespace jobbie::script
