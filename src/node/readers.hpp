// Threads that answer questions from the database, so that the node's own never waits for it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "call/call.hpp"

namespace jobbie::store {
class Store;
}

namespace jobbie::node {

class Readers {
 public:
  /// `store` must outlive the readers.
  Readers(store::Store& store, std::size_t threads, std::size_t bound);
  ~Readers();

  /// From any thread. Answers the call's query and delivers it; `overloaded` when too many wait.
  /// With `after`, what the log has up to that index is in the answer; where the database does not
  /// get there soon, the answer is `behind`.
  void ask(std::unique_ptr<call::Call> call, std::uint64_t after = 0);

 private:
  void work();
  void answer(call::Call& call);
  void search(call::Call& call, const call::SearchQuery& query);
  void list_batches(call::Call& call, const call::BatchesQuery& query);
  void slice(call::Call& call, const call::SliceQuery& query);

  struct Question {
    std::unique_ptr<call::Call> call;
    std::uint64_t after = 0;
  };

  store::Store& store_;
  const std::size_t bound_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Question> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace jobbie::node
