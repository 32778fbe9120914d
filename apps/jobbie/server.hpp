// `jobbie server`: one node, its HTTP API, and a graceful end.
#pragma once

#include "settings.hpp"

namespace jobbie::app {

/// Runs until SIGTERM or SIGINT. The exit code: 0 after a clean stop, 1 when it could not start or
/// had to give up.
int run_server(const Settings& settings);

}  // namespace jobbie::app
