// What the keys do: pure, so that it can be tested.
#pragma once

#include <string>
#include <vector>

#include "tui/model.hpp"

namespace jobbie::tui {

/// Keys that are no characters.
enum class Key : int {
  up = 1'000'000,
  down,
  page_up,
  page_down,
  home,
  end,
  left,
  enter,
  escape,
  backspace,
  tab,
};

/// Changes the look; what is to be done at once comes back.
std::vector<Deed> press(int key, const Snapshot& snapshot, Look& look, int page);

}  // namespace jobbie::tui
