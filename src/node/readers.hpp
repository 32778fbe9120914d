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
#include "command/item.hpp"

namespace jobbie::store {
class Store;
}

namespace jobbie::node {

/// How much of a processor the threads claim when others want it too.
enum class Pace : std::uint8_t {
  usual,
  gentle,  ///< a tenth of a usual thread's share: for questions that may read everything
};

class Readers {
 public:
  struct Options {
    std::size_t threads = 1;
    std::size_t bound = 1;  ///< questions that wait
    Pace pace = Pace::usual;
  };

  /// `store` must outlive the readers.
  Readers(store::Store& store, const Options& options);
  ~Readers();

  /// From any thread. Answers the call's query and delivers it; `overloaded` when too many wait.
  /// Ended jobs that `sweeps` means are gone, although the database may not know it yet.
  void ask(std::unique_ptr<call::Call> call, std::vector<command::SweptJobs> sweeps);
  /// With `after`, what the log has up to that index is in the answer; where the database does not
  /// get there soon, the answer is `behind`.
  void ask(std::unique_ptr<call::Call> call, std::uint64_t after);

 private:
  struct Question {
    std::unique_ptr<call::Call> call;
    std::vector<command::SweptJobs> sweeps;
    std::uint64_t after = 0;
  };

  void work(Pace pace);
  void add(Question question);
  void answer(const Question& question);
  void search(call::Call& call, const call::SearchQuery& query);
  void list_batches(call::Call& call, const call::BatchesQuery& query);
  void slice(call::Call& call, const call::SliceQuery& query);
  // Of those who watch (watch.cpp).
  void answer_errors(const call::ErrorsQuery& query, call::Call& call);
  void answer_logs(const call::LogsQuery& query, call::Call& call);
  void answer_audit(const call::AuditQuery& query, call::Call& call);
  void answer_deliveries(const call::DeliveriesQuery& query, call::Call& call);

  store::Store& store_;
  const std::size_t bound_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Question> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace jobbie::node
