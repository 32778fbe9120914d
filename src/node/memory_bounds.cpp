// Limits from /proc, /sys/fs/cgroup and getrlimit.
#include "node/memory_bounds.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <string_view>
#include <unistd.h>

#include <sys/resource.h>

namespace jobbie::node {
namespace {

/// What is larger than this is no bound: version 1 of control groups says "none" so.
constexpr std::uint64_t kNoBound = std::uint64_t{1} << 60;

std::uint64_t smaller(std::uint64_t a, std::uint64_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

/// The number in a file of one line; zero: there is no such file, or it says `max`.
std::uint64_t bound_in(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return 0;
  const auto number = number_in(line);
  return number && *number < kNoBound ? *number : 0;
}

std::uint64_t limit_of(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= kNoBound ? 0 : limit.rlim_cur;
}

std::uint64_t machine_memory(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("MemTotal:")) continue;
    const auto digits = line.find_first_of("0123456789");
    const auto number = digits == std::string::npos
                            ? std::nullopt
                            : number_in(std::string_view(line).substr(digits));
    return number ? *number * 1024 : 0;
  }
  return 0;
}

/// The smallest bound of a group and of all above it. In a container the path is often one that
/// only the host can see, and the container's own group stands at the top.
std::uint64_t bound_on_the_way(const std::string& top, std::string path,
                               std::initializer_list<const char*> files) {
  std::uint64_t found = 0;
  while (true) {
    for (const char* file : files) found = smaller(found, bound_in(top + path + "/" + file));
    const auto slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return found;
    path.erase(slash);
  }
}

std::uint64_t cgroup_memory(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::uint64_t found = 0;
  // Lines are NUMBER:CONTROLLERS:PATH; version 2 has no controllers there.
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    auto path = line.substr(second + 1);
    while (path.ends_with('/')) path.pop_back();
    if (controllers == ",,")
      found = smaller(
          found, bound_on_the_way(root + "/sys/fs/cgroup", path, {"memory.max", "memory.high"}));
    else if (controllers.find(",memory,") != std::string::npos)
      found = smaller(
          found, bound_on_the_way(root + "/sys/fs/cgroup/memory", path, {"memory.limit_in_bytes"}));
  }
  return found;
}

}  // namespace

std::uint64_t MemoryBounds::resident() const { return smaller(machine, cgroup); }

std::uint64_t MemoryBounds::smallest() const {
  return smaller(resident(), smaller(data, address_space));
}

MemoryBounds find_memory_bounds(const std::string& root) {
  return {.machine = machine_memory(root),
          .cgroup = cgroup_memory(root),
          .data = limit_of(RLIMIT_DATA),
          .address_space = limit_of(RLIMIT_AS)};
}

ProcessMemoryReader::ProcessMemoryReader()
    : file_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)),
      page_bytes_(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))) {}

ProcessMemoryReader::~ProcessMemoryReader() {
  if (file_ >= 0) ::close(file_);
}

ProcessMemory ProcessMemoryReader::read() const {
  std::array<char, 128> text{};
  const auto count = file_ < 0 ? -1 : ::pread(file_, text.data(), text.size(), 0);
  if (count <= 0) return {};
  // size resident shared text lib data dt, in pages
  std::array<std::uint64_t, 6> pages{};
  const char* at = text.data();
  const char* const end = text.data() + count;
  for (auto& number : pages) {
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) return {};
    at = next < end ? next + 1 : end;
  }
  return {.resident = (pages[1] - std::min(pages[1], pages[2])) * page_bytes_,
          .data = pages[5] * page_bytes_,
          .address_space = pages[0] * page_bytes_};
}

}  // namespace jobbie::node
