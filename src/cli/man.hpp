// Manual pages, made from the declarations of the commands.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace jobbie::cli {

/// File names and their roff text: jobbie.1, and one page for each command.
std::vector<std::pair<std::string, std::string>> man_pages(const CLI::App& app,
                                                           const std::string& version);

}  // namespace jobbie::cli
