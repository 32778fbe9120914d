// The lists of the screen: a head and the rows around the selected one.
#pragma once

#include <vector>

#include "tui/screen.hpp"

namespace jobbie::tui {

/// At most `size.rows` lines.
std::vector<Line> list_lines(const Snapshot& snapshot, const Look& look, Size size);

}  // namespace jobbie::tui
