// Lines of a job's log on the wire. Private to the folder.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/json_writer.hpp"
#include "model/log_line.hpp"

namespace jobbie::face::native {

inline constexpr std::array<std::string_view, 4> kLogLevelNames = {"debug", "info", "warning",
                                                                   "error"};

void write_log_line(base::json::Writer& json, std::uint64_t number, const model::LogLine& line);

}  // namespace jobbie::face::native
