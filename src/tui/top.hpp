// `jobbie top`: queues, workers and jobs, live.
#pragma once

#include "client/client.hpp"

namespace jobbie::tui {

struct TopOptions {
  bool once = false;  ///< print it as text and return
  bool color = true;
  int columns = 0;  ///< of the text; 0: the terminal's
};

/// Runs until the user ends it.
client::Result<void> top(client::Client& client, const TopOptions& options);

}  // namespace jobbie::tui
