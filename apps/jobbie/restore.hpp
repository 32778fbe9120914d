// `jobbie restore`: a data directory from a backup.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace jobbie::app {

struct RestoreOptions {
  std::string file;
  std::string data_dir;
  std::string node;          ///< the name of the only member of the new cluster
  bool force = false;        ///< what is in the directory is put aside
  bool reset_clock = false;  ///< the log's time goes back to the machine's, where it is ahead
  std::string output = "table";
};

/// Declares the arguments of `jobbie restore`.
void declare_restore(CLI::App& command, RestoreOptions& options);

/// The exit code. Until the last step the directory is as it was.
int restore(const RestoreOptions& options);

}  // namespace jobbie::app
