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

void Blob::destroy(Block* block) noexcept { ::operator delete(block, sizeof(Block) + block->size); }

}  // namespace jobbie::base
