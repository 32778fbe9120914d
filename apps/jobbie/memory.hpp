// The allocator of what ships.
#pragma once

#include <functional>

#include "node/memory_guard.hpp"

namespace jobbie::app {

/// By itself the allocator keeps address space that it no longer uses, each of its parts for
/// itself, which is faster. Where the process's address space is limited that would use it up, so
/// the program is started again in its own place, once, with an allocator that gives it back. To be
/// called before there are threads.
/// Stacks of threads are made smaller, since they count in full against a limit of address space.
void settle_allocator(const node::MemoryBounds& bounds);

/// Asks the allocator; empty where that cannot be asked, as with the sanitizers.
std::function<node::HeapUse()> heap_reader();

/// Gives back to the system at once what the allocator keeps for later; empty likewise.
std::function<void()> heap_releaser();

}  // namespace jobbie::app
