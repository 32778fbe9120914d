// The filters of a search, as flags and as JSON.
#pragma once

#include <string>
#include <vector>

#include "client/error.hpp"

namespace CLI {
class App;
}

namespace jobbie::cli {

struct Filters {
  std::string filter;  ///< all of them at once, as JSON
  std::string queue, priority, payload_contains, payload_jq, error_contains, error_group;
  std::string worker, batch, schedule, group, unique_key, id_prefix, attempt_min, attempt_max;
  std::vector<std::string> states, tags;
  /// By the stem of the field: created, scheduled, started, completed, failed, expire.
  std::vector<std::string> after = std::vector<std::string>(6);
  std::vector<std::string> before = std::vector<std::string>(6);
  bool has_errors = false;
  bool no_errors = false;
};

void add_filters(CLI::App* command, Filters& filters);

/// The members of the search's body, with brackets: `{}` when nothing was given.
client::Result<std::string> filter_json(const Filters& filters);

}  // namespace jobbie::cli
