// How jemalloc manages memory: read by it at the start, by this name; and what it says of itself.
#include "memory.hpp"

#ifdef JOBBIE_JEMALLOC
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <pthread.h>
#include <stdlib.h>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" {

/// A thread of its own gives memory back about a second after it was freed. Without it only threads
/// that go on allocating do, and what a burst took would stay with a server that is idle.
extern const char* const malloc_conf;
const char* const malloc_conf = "background_thread:true,dirty_decay_ms:1000";
/// As jemalloc.h has it, which would declare the name above in another way.
int mallctl(const char* name, void* old, std::size_t* old_size, void* fresh, std::size_t size);
}
#endif

namespace jobbie::app {

#ifdef JOBBIE_JEMALLOC
namespace {

std::uint64_t figure(const char* name) {
  std::size_t value = 0;
  std::size_t size = sizeof(value);
  return mallctl(name, &value, &size, nullptr, 0) == 0 ? value : 0;
}

node::HeapUse heap_use() {
  std::uint64_t epoch = 1;  // figures are as of the last time that this was written
  std::size_t size = sizeof(epoch);
  mallctl("epoch", &epoch, &size, &epoch, size);
  // Not what is mapped and free in one of the arenas: the threads of the others cannot use it.
  return {.allocated = figure("stats.allocated"), .reusable = figure("stats.retained")};
}

/// The number by which jemalloc means all of its arenas.
constexpr const char* kPurgeAllArenas = "arena.4096.purge";
/// Two dozen threads with the eight megabytes that are usual would take half of a small limit.
constexpr std::size_t kStackBytes = std::size_t{2} << 20;

void release_unused() {
  mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
  mallctl(kPurgeAllArenas, nullptr, nullptr, nullptr, 0);
}

void make_stacks_smaller() {
  pthread_attr_t attributes;
  if (::pthread_getattr_default_np(&attributes) != 0) return;
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
}

}  // namespace

std::function<node::HeapUse()> heap_reader() { return heap_use; }
std::function<void()> heap_releaser() { return release_unused; }

void settle_allocator(const node::MemoryBounds& bounds) {
  make_stacks_smaller();
  if (bounds.data == 0 && bounds.address_space == 0) return;
  if (::getenv("MALLOC_CONF") != nullptr) return;  // the second time, or somebody knows better
  std::array<char, PATH_MAX> program{};
  if (::readlink("/proc/self/exe", program.data(), program.size() - 1) <= 0) return;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::setenv("MALLOC_CONF", "retain:false", 1);
  ::execv(program.data(), arguments.data());  // returns only if it failed: then all stays as it was
}
#else
std::function<node::HeapUse()> heap_reader() { return {}; }
std::function<void()> heap_releaser() { return {}; }
void settle_allocator(const node::MemoryBounds& /*bounds*/) {}
#endif

}  // namespace jobbie::app
