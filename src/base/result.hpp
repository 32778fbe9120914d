// The error that a failing environment or malformed input gives: a stable code and a sentence.
#pragma once

#include <cstddef>
#include <expected>
#include <string>

namespace jobbie::base {

/// `code` is stable and machine readable (`snake_case`), `message` tells a person what to do,
/// `position` is the byte offset of the fault in text input (0 where it has no meaning).
struct Error {
  std::string code;
  std::string message;
  std::size_t position = 0;
};

template <typename T>
using Result = std::expected<T, Error>;

}  // namespace jobbie::base
