// Checks for the programmer's mistakes. They stay on in release builds and abort the process.
//
// Input from outside (network, disk, peers) is validated and refused, never checked with these.
#pragma once

namespace jobbie::base {

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace jobbie::base

#define JOBBIE_CHECK(expression)                                     \
  do {                                                               \
    if (!(expression)) [[unlikely]]                                  \
      ::jobbie::base::check_failed(#expression, __FILE__, __LINE__); \
  } while (false)
