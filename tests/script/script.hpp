// A script file: prose, steps and what each step is expected to print.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "script/line.hpp"

namespace jobbie::script {

/// Lines that stand together. A step without `----` sets the scene: what it prints is not compared,
/// but nothing in it may be refused.
struct Step {
  std::vector<Line> lines;
  bool checked = false;
  std::string expected;
  std::size_t expected_from = 0;  ///< index of the first line below `----`
  std::size_t expected_to = 0;    ///< index past the last
  [[nodiscard]] int number() const { return lines.front().number; }
};

class Script {
 public:
  /// Fails (ScriptError) if the text is no script.
  explicit Script(std::string_view text);

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  /// The text with every expected trace replaced by `traces`, one for each step.
  [[nodiscard]] std::string with_traces(const std::vector<std::string>& traces) const;

 private:
  void read_step(std::size_t& at);
  void read_expected(std::size_t& at, Step& step) const;

  std::vector<std::string> lines_;
  std::vector<Step> steps_;
};

}  // namespace jobbie::script
