// Unfinished batches: how many of each one's members have not ended.
//
// While a batch is being filled it is open, and cannot finish even if all members so far have
// ended. One that has no pending member and is not open is listed, and taken by whoever makes its
// callback; its last record is kept for the next drain.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "command/item.hpp"
#include "engine/memory_account.hpp"
#include "model/records.hpp"

namespace jobbie::engine {

struct Batch {
  model::BatchRecord record;
  std::uint32_t bytes = 0;  ///< in the account of memory
  bool changed = false;
};

class Batches {
 public:
  explicit Batches(MemoryAccount& memory) : memory_(memory) {}
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  /// Adds a batch, and opens it.
  void open(model::BatchRecord record);
  /// One more member of the open batch.
  void join();
  void close();
  /// A member has ended, for the first time. Nothing happens if the batch has finished.
  void count(base::BatchId id, bool succeeded);

  [[nodiscard]] bool any_done() const { return !done_.empty(); }
  /// Removes the batches of which no member is pending, in the order in which they came to that.
  [[nodiscard]] std::vector<model::BatchRecord> take_done();
  /// Keeps what became of a batch that was taken.
  void finished(model::BatchRecord record) { finished_.push_back(std::move(record)); }

  /// Adds a batch that was loaded; whether there was none of its number.
  [[nodiscard]] bool restore(model::BatchRecord record);
  /// Unfinished, or not drained since; null: there is none.
  [[nodiscard]] const model::BatchRecord* find(base::BatchId id) const;
  /// Calls `use(record)` for each unfinished one, in no order.
  template <typename Use>
  void for_each(Use&& use) const {
    for (const auto& [sequence, batch] : batches_) use(batch.record);
  }

  void drain(command::Changes& out);
  void shrink();

 private:
  void changed(Batch& batch);

  MemoryAccount& memory_;
  std::unordered_map<std::uint64_t, Batch> batches_;  ///< by sequence
  std::vector<std::uint64_t> done_;
  std::uint64_t open_ = 0;
  std::vector<std::uint64_t> changed_;
  std::vector<model::BatchRecord> finished_;
};

}  // namespace jobbie::engine
