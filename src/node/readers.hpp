// Threads that answer questions from the database, so that the node's own never waits for it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "call/call.hpp"
#include "command/item.hpp"
#include "node/caller_queue.hpp"

namespace jobbie::store {
class Store;
}

namespace jobbie::node {

/// Threads for questions that may read much. One caller alone has two of those that are not the
/// node's own at most.
inline constexpr std::size_t kOwnSearchThreads = 1;
inline constexpr std::size_t kSearchThreads = 3 + kOwnSearchThreads;

/// How much of a processor the threads claim when others want it too.
enum class Pace : std::uint8_t {
  usual,
  gentle,  ///< a tenth of a usual thread's share: for questions that may read everything
};

class Readers {
 public:
  struct Options {
    CallerQueueOptions queue;
    Pace pace = Pace::usual;
  };

  /// `store` must outlive the readers.
  Readers(store::Store& store, const Options& options);
  /// Whatever waits, or is not answered in a moment, is told that the node is stopping.
  ~Readers();

  /// From any thread. Answers the call's query and delivers it; `overloaded` when too many wait,
  /// `cancelled` when its client has gone. Ended jobs that `sweeps` means are gone, although the
  /// database may not know it yet.
  void ask(std::unique_ptr<call::Call> call, std::vector<command::SweptJobs> sweeps);
  /// With `after`, what the log has up to that index is in the answer; where the database does not
  /// get there soon, the answer is `behind`.
  void ask(std::unique_ptr<call::Call> call, std::uint64_t after);

  /// From any thread, the first step of a stop: questions of callers that wait are told so, those
  /// under way have a second left, and those to come are refused. The node's own go on.
  void drain();

 private:
  using Clock = std::chrono::steady_clock;
  struct Question {
    std::unique_ptr<call::Call> call;
    std::vector<command::SweptJobs> sweeps;
    std::uint64_t after = 0;
  };

  void work(Pace pace);
  void add(Question question);
  /// False: too many wait. What nobody waits for any more makes room.
  bool add_to_queue(Question& question, std::vector<Question>& dropped);
  static void refuse(Question question, call::Trouble trouble);
  /// Why the call is not worth an answer any more; none: it is.
  [[nodiscard]] call::Trouble given_up(const call::Call& call) const;
  bool wait_for_store(const Question& question);
  void try_to_answer(const Question& question);
  void answer(const Question& question);
  void answer_lookup(const Question& question);
  void search(call::Call& call, const call::SearchQuery& query);
  void list_batches(call::Call& call, const call::BatchesQuery& query);
  void slice(call::Call& call, const call::SliceQuery& query);
  // Of those who watch (watch.cpp, outbox.cpp).
  void answer_errors(const call::ErrorsQuery& query, call::Call& call);
  void answer_logs(const call::LogsQuery& query, call::Call& call);
  void answer_audit(const call::AuditQuery& query, call::Call& call);
  void answer_deliveries(const call::DeliveriesQuery& query, call::Call& call);
  /// For the store: whether to stop what it does for the call.
  [[nodiscard]] auto is_given_up(const call::Call& call) const {
    return [this, &call] { return given_up(call) != call::Trouble::none; };
  }
  [[nodiscard]] call::Trouble trouble_of(const base::Error& error, const call::Call& call) const;

  store::Store& store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  CallerQueue<Question> queue_;
  bool stopping_ = false;
  bool draining_ = false;
  /// From when on nothing, or nothing of callers, is worth an answer, as the clock counts.
  std::atomic<Clock::rep> all_end_ = Clock::duration::max().count();
  std::atomic<Clock::rep> callers_end_ = Clock::duration::max().count();
  std::vector<std::thread> threads_;
};

}  // namespace jobbie::node
