// The keys that a server starts with: those of a file, and the first one of an operator.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/journal.hpp"
#include "base/result.hpp"
#include "call/call.hpp"
#include "model/access.hpp"
#include "settings.hpp"

namespace jobbie::app {

/// Reads `name:scopes:queues:secret` lines; scopes and queues are lists with commas, an empty list
/// of queues means all. Empty lines and those that begin with `#` are left out. An error names the
/// line and never the secret.
base::Result<std::vector<model::KeySpec>> parse_keys(std::string_view text);

/// Before the server listens: the keys of the file become keys of the cluster, and where keys are
/// asked for and nobody has the scope admin, an admin key is made and left in DATA_DIR/admin.key.
base::Result<void> prepare_keys(call::Service& service, const Settings& settings,
                                base::Journal& journal);

/// Among several nodes: whenever this one begins to lead, it does the same.
class KeyKeeper {
 public:
  /// All three must outlive it.
  KeyKeeper(call::Service& service, const Settings& settings, base::Journal& journal);
  ~KeyKeeper();

 private:
  void run();

  call::Service& service_;
  const Settings& settings_;
  base::Journal& journal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace jobbie::app
