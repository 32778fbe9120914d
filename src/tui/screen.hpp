// The screen as text: pure, so that it can be compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tui/model.hpp"

namespace jobbie::tui {

enum class Ink : std::uint8_t { plain, title, head, dim, good, warn, bad, chosen };

struct Span {
  std::string text;
  Ink ink = Ink::plain;
};
using Line = std::vector<Span>;

struct Size {
  int columns = 80;
  int rows = 24;
};

/// Whether lines and bars may be drawn with more than ASCII.
enum class Charset : std::uint8_t { unicode, ascii };

/// Exactly `size.rows` lines, none wider than `size.columns`.
std::vector<Line> render(const Snapshot& snapshot, const Look& look, Size size, Charset charset);

/// Queues and workers one below the other, for `--once`.
std::vector<Line> render_once(const Snapshot& snapshot, int columns, Charset charset);

std::string text_of(const Line& line);

/// The latest values that fit `width`, as bars up to the largest of them.
std::string sparkline(const std::vector<double>& values, int width, Charset charset);
std::string short_length(std::int64_t ms);
std::string short_rate(double per_second);
int width_of(const std::string& text);
/// Cut or padded to `width` characters.
std::string fit(const std::string& text, int width, bool right = false);

}  // namespace jobbie::tui
