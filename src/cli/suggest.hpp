// What somebody may have meant who typed a command that there is not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace jobbie::cli {

/// The one of `names` that differs from `word` by few letters, or begins with it; or nothing.
std::string nearest(std::string_view word, const std::vector<std::string>& names);

/// After parsing failed: what to say if a word is no command where one is expected. `app` is the
/// whole program.
std::optional<std::string> unknown_command(const CLI::App& app);

}  // namespace jobbie::cli
