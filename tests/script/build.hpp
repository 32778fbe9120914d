// From a line of a script to the command it stands for.
#pragma once

#include "base/time.hpp"
#include "command/command.hpp"
#include "script/line.hpp"
#include "script/names.hpp"

namespace jobbie::script {

/// Fails (ScriptError) if the line names no command or has an option that the command lacks.
[[nodiscard]] command::Command build_command(const Line& line, const Names& names,
                                             base::Instant now);

}  // namespace jobbie::script
