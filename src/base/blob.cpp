// Allocation and release of Blob blocks.
#include "base/blob.hpp"

#include <cstring>
#include <limits>
#include <new>

#include "base/check.hpp"

namespace jobbie::base {

Blob::Blob(std::string_view bytes) {
  if (bytes.empty()) return;
  JOBBIE_CHECK(bytes.size() <= std::numeric_limits<std::uint32_t>::max());
  void* memory = ::operator new(sizeof(Block) + bytes.size());
  block_ = ::new (memory) Block{.refs = 1, .size = static_cast<std::uint32_t>(bytes.size())};
  std::memcpy(block_->bytes(), bytes.data(), bytes.size());
}

void Blob::drop(Block* block) noexcept {
  // The only owner needs no atomic write: nobody else can be copying what only we hold.
  if (__atomic_load_n(&block->refs, __ATOMIC_ACQUIRE) == 1 ||
      __atomic_fetch_sub(&block->refs, 1, __ATOMIC_ACQ_REL) == 1) {
    ::operator delete(block, sizeof(Block) + block->size);
  }
}

}  // namespace jobbie::base
