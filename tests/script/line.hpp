// One line of a script, cut into words and options, with readers that name the line when it is
// wrong.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/blob.hpp"
#include "base/time.hpp"

namespace jobbie::script {

/// A mistake in the script itself, or a promise of the engine that the runner saw broken.
class ScriptError : public std::runtime_error {
 public:
  ScriptError(int line, const std::string& message) : std::runtime_error(message), line_(line) {}
  [[nodiscard]] int line() const { return line_; }

 private:
  int line_;
};

/// `verb word word key=value key="a text" key={"json": 1}`. Values with spaces stand in quotes,
/// braces or brackets. A leading `+` joins the line to the entry of the line before; indented lines
/// below a line are its children (jobs of one request, beats of one heartbeat).
class Line {
 public:
  Line(int number, std::string_view text);

  int number = 0;
  bool joined = false;
  bool indented = false;
  std::vector<std::string> words;
  std::vector<Line> children;

  [[noreturn]] void fail(const std::string& message) const;

  /// Word `i`; fails if it is not there.
  [[nodiscard]] const std::string& word(std::size_t i, const char* what) const;
  /// Fails if an option was given that nobody asked for, or a word past `most_words`.
  void expect_all_read(std::size_t most_words) const;

  [[nodiscard]] bool has(const std::string& key) const;
  /// Unquoted text; `fallback` if the option is not given.
  [[nodiscard]] std::string text(const std::string& key, std::string_view fallback = {}) const;
  [[nodiscard]] base::Blob text_blob(const std::string& key) const;
  /// The value as it stands, quotes included.
  [[nodiscard]] base::Blob json_blob(const std::string& key) const;
  [[nodiscard]] std::vector<std::string> list(const std::string& key) const;
  [[nodiscard]] std::vector<base::Blob> blobs(const std::string& key) const;
  /// A bare word `key`, `key=true` or `key=false`.
  [[nodiscard]] bool flag(const std::string& key, bool fallback) const;
  [[nodiscard]] base::Duration duration(const std::string& key, base::Duration fallback = {}) const;
  [[nodiscard]] std::optional<base::Duration> maybe_duration(const std::string& key) const;
  template <typename T>
  [[nodiscard]] T number_of(const std::string& key, T fallback) const {
    if (!has(key)) return fallback;
    return static_cast<T>(to_number(text(key),
                                    static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                                    static_cast<std::uint64_t>(std::numeric_limits<T>::max())));
  }

  [[nodiscard]] base::Duration to_duration(const std::string& value) const;
  [[nodiscard]] std::int64_t to_number(const std::string& value, std::int64_t least,
                                       std::uint64_t most) const;

 private:
  std::map<std::string, std::string> options_;
  mutable std::set<std::string> read_;
};

/// The parts of `a,b,c`; none of an empty text.
[[nodiscard]] std::vector<std::string> split_commas(std::string_view text);

}  // namespace jobbie::script
