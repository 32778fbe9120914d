// Reading the gauges.
#include "node/memory_guard.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace jobbie::node {
namespace {

constexpr std::int64_t kLookEveryUs = 100'000;
constexpr std::uint64_t kLookEveryBytes = std::uint64_t{2} << 20;
constexpr std::int64_t kAskEveryUs = 100'000;
constexpr std::int64_t kLongAgo = std::numeric_limits<std::int64_t>::min() / 2;
/// Of what the process takes beside its heap: stacks, and what the allocator needs itself.
constexpr std::uint64_t kBesideHeap = std::uint64_t{8} << 20;

/// Of what the system allows, so much is for what stays; the rest is for what comes and goes.
std::uint64_t nine_tenths(std::uint64_t bound) { return bound - bound / 10; }
/// Address space is taken in larger pieces.
std::uint64_t five_sixths(std::uint64_t bound) { return bound - bound / 6; }

std::uint64_t least(std::uint64_t a, std::uint64_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

/// Where refusing begins, and below what it ends.
std::uint64_t nearly(std::uint64_t bound) { return bound - bound / 32; }
std::uint64_t well_below(std::uint64_t bound) { return bound - bound / 8; }

}  // namespace

MemoryGuard::MemoryGuard(MemoryOptions options)
    : options_(std::move(options)),
      limit_(least(options_.limit, nine_tenths(options_.bounds.resident()))),
      looked_us_(kLongAgo),
      asked_us_(kLongAgo),
      released_us_(kLongAgo) {
  room_ = limit_ == 0 ? std::numeric_limits<std::uint64_t>::max() : limit_;
}

HeapUse MemoryGuard::heap_use(std::int64_t now_us) {
  if (options_.heap && now_us - asked_us_ >= kAskEveryUs) {
    asked_us_ = now_us;
    heap_ = options_.heap();
  }
  return heap_;
}

bool MemoryGuard::lacks_address_space(const ProcessMemory& process) const {
  const auto is_near = [](std::uint64_t used, std::uint64_t limit) {
    return limit != 0 && used >= well_below(five_sixths(limit));
  };
  return is_near(process.data, options_.bounds.data) ||
         is_near(process.address_space, options_.bounds.address_space);
}

ProcessMemory MemoryGuard::process_memory(std::int64_t now_us) {
  const auto read = [&] { return options_.process ? options_.process() : reader_.read(); };
  const auto process = read();
  if (!options_.release_unused || !lacks_address_space(process)) return process;
  if (now_us - released_us_ < kAskEveryUs) return process;
  released_us_ = now_us;
  options_.release_unused();
  asked_us_ = kLongAgo;  // the allocator has other figures now
  return read();
}

void MemoryGuard::note(const Gauge& gauge) {
  if (gauge.bound == 0) return;
  room_ = std::min(room_, gauge.bound - std::min(gauge.bound, gauge.used));
  full_ = full_ || gauge.used >= nearly(gauge.bound);
  cleared_ = cleared_ && gauge.used < well_below(gauge.bound);
  critical_ = critical_ || gauge.used >= gauge.bound + gauge.bound / 16;
}

void MemoryGuard::look(std::int64_t now_us, std::uint64_t state, std::size_t coming) {
  if (now_us - looked_us_ < kLookEveryUs && taken_ + coming < kLookEveryBytes) return;
  looked_us_ = now_us;
  heap_.allocated += taken_;  // until it is asked again
  taken_ = 0;
  room_ = std::numeric_limits<std::uint64_t>::max();
  full_ = critical_ = false;
  cleared_ = true;
  const auto process = process_memory(now_us);
  std::uint64_t resident = process.resident;
  if (options_.heap && options_.limit != 0 && resident >= well_below(options_.limit)) {
    // What lies in pieces between what is in use has been given up, and new jobs find room in it.
    const auto allocated = heap_use(now_us).allocated;
    resident = std::min(resident, allocated + allocated / 16 + kBesideHeap);
  }
  used_ = std::max(state, resident);
  note({.used = used_, .bound = options_.limit});
  note({.used = process.resident, .bound = nine_tenths(options_.bounds.resident())});
  const auto mapped = [&](std::uint64_t used, std::uint64_t limit) {
    const auto bound = five_sixths(limit);
    if (options_.heap && bound != 0 && used >= well_below(bound))
      used -= std::min(used, heap_use(now_us).reusable);
    note({.used = used, .bound = bound});
  };
  mapped(process.data, options_.bounds.data);
  mapped(process.address_space, options_.bounds.address_space);
  refusing_ = full_ || (refusing_ && !cleared_);
}

}  // namespace jobbie::node
