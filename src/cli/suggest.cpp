// Compares letter by letter: left out, too many, wrong, or two in the wrong order.
#include "cli/suggest.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace jobbie::cli {
namespace {

std::size_t letters_apart(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last, now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) now[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, now);
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] =
          std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
  }
  return now[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  std::string found;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const auto& name : names) {
    const bool begins = word.size() > 1 && name.starts_with(word);
    const std::size_t apart = begins ? 1 : letters_apart(word, name);
    if (apart >= least) continue;
    least = apart;
    found = name;
  }
  return found;
}

std::optional<std::string> unknown_command(const CLI::App& app) {
  const CLI::App* command = &app;
  std::string words = "jobbie";
  for (bool deeper = true; deeper;) {
    deeper = false;
    for (const CLI::App* below : command->get_subcommands({})) {
      if (!below->parsed()) continue;
      command = below;
      words += " " + below->get_name();
      deeper = true;
      break;
    }
  }
  std::vector<std::string> names;
  for (const CLI::App* below : command->get_subcommands({}))
    if (!below->get_group().empty()) names.push_back(below->get_name());
  const auto left = command->remaining();
  if (names.empty() || left.empty() || left[0].starts_with('-')) return std::nullopt;
  std::string text = fmt::format("there is no command \"{} {}\"", words, left[0]);
  if (const auto meant = nearest(left[0], names); !meant.empty())
    text += fmt::format("; did you mean \"{} {}\"?", words, meant);
  return text + fmt::format("\nUsage: {} COMMAND …; {} --help lists the commands.", words, words);
}

}  // namespace jobbie::cli
