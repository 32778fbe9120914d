// The files of the web UI, as ui/dist had them when this was built. tools/pack_ui makes the list.
#pragma once

#include <span>
#include <string_view>

namespace jobbie::ui {

struct File {
  std::string_view path;  ///< below /ui/: `assets/core-1a2b3c.js`
  std::string_view content_type;
  std::string_view etag;  ///< in quotes
  bool immutable;         ///< its name has a hash of what is in it
  std::string_view plain;
  std::string_view gzip;
};

/// By path. There is always an `index.html`: where the UI was not built, one that says how to.
std::span<const File> files();

}  // namespace jobbie::ui
