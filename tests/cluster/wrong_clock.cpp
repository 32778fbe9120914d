// Preloaded into a node under test: the wall clock is off by as many nanoseconds as the first eight
// bytes of the file WRONG_CLOCK say, and may jump at any time. All other clocks are right.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/syscall.h>

namespace {

const std::atomic<std::int64_t>* map_offset() {
  static const std::atomic<std::int64_t> right{0};
  const char* path = std::getenv("WRONG_CLOCK");
  const int file = path != nullptr ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return &right;
  void* at = mmap(nullptr, sizeof(right), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return at == MAP_FAILED ? &right : static_cast<const std::atomic<std::int64_t>*>(at);
}

}  // namespace

extern "C" int clock_gettime(clockid_t id, timespec* at) noexcept {
  // The system call itself: to look up the function that this one hides would need memory, and
  // whoever allocates it may ask for the time.
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, id, at));
  if (result != 0 || id != CLOCK_REALTIME) return result;
  static const std::atomic<std::int64_t>* const offset = map_offset();
  constexpr std::int64_t kSecond = 1'000'000'000;
  const auto wrong = at->tv_sec * kSecond + at->tv_nsec + offset->load(std::memory_order_relaxed);
  at->tv_sec = wrong / kSecond;
  at->tv_nsec = wrong % kSecond;
  return 0;
}
