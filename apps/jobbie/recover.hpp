// `jobbie cluster recover`: a stopped node goes on alone when the majority of its cluster is lost.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace jobbie::app {

struct RecoverOptions {
  std::string data_dir = "./data";
  bool yes = false;
};

void declare_recover(CLI::App& command, RecoverOptions& options);

/// The exit code.
int recover(const RecoverOptions& options);

}  // namespace jobbie::app
