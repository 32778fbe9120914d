// How much memory the process may have, and how much it has.
#pragma once

#include <cstdint>
#include <string>

namespace jobbie::node {

/// What the system allows; zero: no bound of that kind.
struct MemoryBounds {
  std::uint64_t machine = 0;        ///< memory that there is
  std::uint64_t cgroup = 0;         ///< of the process's control group and those above it
  std::uint64_t data = 0;           ///< RLIMIT_DATA
  std::uint64_t address_space = 0;  ///< RLIMIT_AS

  /// The smallest of them; zero: there is none at all.
  [[nodiscard]] std::uint64_t smallest() const;
  /// The smaller of those for memory in use: of the machine and of the control group.
  [[nodiscard]] std::uint64_t resident() const;
};

/// Asks the system. `root` stands before /proc and /sys, for tests.
MemoryBounds find_memory_bounds(const std::string& root = {});

/// Of this process, in bytes; zero: not known.
struct ProcessMemory {
  std::uint64_t resident = 0;       ///< in use and its own: not what files could be read from again
  std::uint64_t data = 0;           ///< as RLIMIT_DATA counts it
  std::uint64_t address_space = 0;  ///< as RLIMIT_AS counts it
};

/// Reads /proc/self/statm again and again, at about a microsecond each.
class ProcessMemoryReader {
 public:
  ProcessMemoryReader();
  ~ProcessMemoryReader();
  ProcessMemoryReader(const ProcessMemoryReader&) = delete;
  ProcessMemoryReader& operator=(const ProcessMemoryReader&) = delete;
  [[nodiscard]] ProcessMemory read() const;

 private:
  int file_;
  std::uint64_t page_bytes_;
};

}  // namespace jobbie::node
