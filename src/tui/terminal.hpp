// The terminal behind ncurses: lines out, keys in.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tui/screen.hpp"

namespace jobbie::tui {

/// Takes the terminal over and gives it back when it goes. One at a time.
class Terminal {
 public:
  /// Nothing if the terminal is of no known kind.
  static std::unique_ptr<Terminal> open(bool color);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Size size() const;
  Charset charset() const { return charset_; }
  void draw(const std::vector<Line>& lines);
  /// A character, or a Key; nothing if none came in time.
  std::optional<int> key(int wait_ms);

 private:
  Terminal(bool color, Charset charset);
  bool color_;
  Charset charset_;
  void* screen_ = nullptr;
};

/// Makes UTF-8 the encoding where the system has it.
Charset choose_charset();

}  // namespace jobbie::tui
