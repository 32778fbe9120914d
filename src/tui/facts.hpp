// Answers of the server as rows of the screen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/json.hpp"
#include "tui/model.hpp"

namespace jobbie::tui {

QueueRow queue_row(const client::Json& queue);
WorkerRow worker_row(const client::Json& worker);
JobRow job_row(const client::Json& job);
EventRow event_row(const client::Json& event);
/// Everything about a job, a line each.
std::vector<std::string> job_lines(const client::Json& job);
std::string cluster_text(const client::Json& status);
/// The newest value of a column of the statistics, as a length of time.
std::string latest(const client::Json& column);
/// Without anything that a terminal would act upon, in one line.
std::string harmless(const std::string& text);
std::int64_t now_ms();

}  // namespace jobbie::tui
