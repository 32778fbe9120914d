// Small things that every file of this folder needs. Internal to this folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace jobbie::peer {

inline std::unexpected<base::Error> failure(std::string_view code, std::string message) {
  return std::unexpected(base::Error{.code = std::string(code), .message = std::move(message)});
}

/// A clock for deadlines: it never jumps.
inline std::int64_t now_us() {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
inline std::int64_t now_ms() { return now_us() / 1000; }

}  // namespace jobbie::peer
