// Reading script files and writing them anew.
#include "script/script.hpp"

namespace jobbie::script {
namespace {

constexpr std::string_view kRuler = "----";

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    out.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return out;
}

}  // namespace

Script::Script(std::string_view text) : lines_(split_lines(text)) {
  if (lines_.empty() || !lines_.front().starts_with("# "))
    throw ScriptError(1, "a script begins with a comment that states its rule");
  for (std::size_t at = 0; at < lines_.size();) {
    if (lines_[at].empty() || lines_[at].starts_with("#")) {
      ++at;
    } else {
      read_step(at);
    }
  }
}

void Script::read_step(std::size_t& at) {
  Step step;
  for (; at < lines_.size() && !lines_[at].empty(); ++at) {
    if (lines_[at].starts_with("#")) continue;
    const int number = static_cast<int>(at) + 1;
    if (lines_[at] == kRuler) {
      if (step.lines.empty()) throw ScriptError(number, "a trace without a command above it");
      read_expected(++at, step);
      break;
    }
    Line line(number, lines_[at]);
    if (!line.indented) {
      step.lines.push_back(std::move(line));
    } else if (step.lines.empty()) {
      line.fail("an indented line belongs to the line above it");
    } else {
      step.lines.back().children.push_back(std::move(line));
    }
  }
  steps_.push_back(std::move(step));
}

void Script::read_expected(std::size_t& at, Step& step) const {
  step.checked = true;
  step.expected_from = at;
  for (; at < lines_.size() && !lines_[at].empty(); ++at) step.expected += lines_[at] + "\n";
  step.expected_to = at;
}

std::string Script::with_traces(const std::vector<std::string>& traces) const {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i].checked) continue;
    for (; copied < steps_[i].expected_from; ++copied) out += lines_[copied] + "\n";
    out += traces[i];
    copied = steps_[i].expected_to;
  }
  for (; copied < lines_.size(); ++copied) out += lines_[copied] + "\n";
  return out;
}

}  // namespace jobbie::script
