// The text format, and the process as the kernel sees it.
#include "face/native/exposition.hpp"

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/resource.h>

namespace jobbie::face::native {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

struct Memory {
  std::uint64_t virtual_pages = 0;
  std::uint64_t resident_pages = 0;
};

Memory memory_of_process() {
  Memory memory;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "r"),
                                                             &std::fclose);
  if (!file) return memory;
  unsigned long long all = 0;
  unsigned long long resident = 0;
  if (std::fscanf(file.get(), "%llu %llu", &all, &resident) == 2)
    memory = {.virtual_pages = all, .resident_pages = resident};
  return memory;
}

std::uint64_t open_descriptors() {
  std::error_code error;
  std::uint64_t count = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error))
    ++count;
  return count > 0 ? count - 1 : 0;  // one of them was for looking
}

}  // namespace

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  family_ = name;
  fmt::format_to(std::back_inserter(out_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void Exposition::label(std::string_view name, std::string_view value, bool& first) {
  out_.push_back(first ? '{' : ',');
  first = false;
  out_.append(name).append("=\"");
  for (const char c : value) {
    if (c == '\n')
      out_.append("\\n");
    else if (c == '"' || c == '\\')
      out_.append(1, '\\').push_back(c);
    else
      out_.push_back(c);
  }
  out_.push_back('"');
}

void Exposition::begin(std::string_view suffix, Labels labels, std::string_view bound) {
  out_.append(family_).append(suffix);
  bool first = true;
  for (const auto& [name, value] : labels) label(name, value, first);
  if (!bound.empty()) label("le", bound, first);
  if (!first) out_.push_back('}');
  out_.push_back(' ');
}

void Exposition::sample(Labels labels, std::uint64_t value) {
  begin({}, labels);
  fmt::format_to(std::back_inserter(out_), "{}\n", value);
}

void Exposition::sample(Labels labels, double value) {
  begin({}, labels);
  fmt::format_to(std::back_inserter(out_), "{}\n", value);
}

void Exposition::timing(Labels labels, const stats::Timing& timing, const stats::Bounds& bounds,
                        std::int64_t unit) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < timing.counts.size(); ++i) {
    total += timing.counts[i];
    const auto bound =
        i < bounds.size()
            ? fmt::format("{}", static_cast<double>(bounds[i]) / static_cast<double>(unit))
            : std::string("+Inf");
    begin("_bucket", labels, bound);
    fmt::format_to(std::back_inserter(out_), "{}\n", total);
  }
  begin("_sum", labels);
  fmt::format_to(std::back_inserter(out_), "{}\n",
                 static_cast<double>(timing.sum) / static_cast<double>(unit));
  begin("_count", labels);
  fmt::format_to(std::back_inserter(out_), "{}\n", total);
}

void Exposition::gauge(std::string_view name, std::string_view help, std::uint64_t value) {
  family(name, "gauge", help);
  sample({}, value);
}

void Exposition::counter(std::string_view name, std::string_view help, std::uint64_t value) {
  family(name, "counter", help);
  sample({}, value);
}

void write_process(Exposition& out) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto memory = memory_of_process();
  out.gauge("process_resident_memory_bytes", "Memory of the process that is in RAM.",
            memory.resident_pages * page);
  out.gauge("process_virtual_memory_bytes", "Address space of the process.",
            memory.virtual_pages * page);
  out.gauge("process_open_fds", "Open file descriptors.", open_descriptors());
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0)
    out.gauge("process_max_fds", "The most file descriptors that may be open.",
              std::uint64_t{descriptors.rlim_cur});
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    out.family("process_cpu_seconds_total", "counter", "Processor time, of users and the system.");
    out.sample({}, seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
  }
}

}  // namespace jobbie::face::native
