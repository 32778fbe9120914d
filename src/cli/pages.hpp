// Lists that come in pages.
#pragma once

#include <functional>
#include <string>

#include "cli/session.hpp"
#include "client/json.hpp"

namespace jobbie::cli {

/// Reads every page of `target`, whose items are in `member`. With --output json each item is
/// printed as a line; otherwise `row` gets it.
client::Result<void> each_page(Session& session, const std::string& target,
                               const std::string& member,
                               const std::function<void(const client::Json&)>& row);

}  // namespace jobbie::cli
