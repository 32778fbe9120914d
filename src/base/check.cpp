// Prints where a check failed and ends the process.
#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace jobbie::base {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "check failed: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace jobbie::base
