// The bulk runner: finds the jobs of bulk operations and proposes the steps that act on them.
//
// It is a client of the node with a thread of its own: it asks for the next jobs that match, puts a
// step of at most kStepJobs into the log, waits for its reply and goes on, one step of each
// operation in turn. So a bulk operation of any size never holds up anybody else for longer than
// one step. What has to survive is the engine's record; the runner takes it up again at the start.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "call/call.hpp"
#include "node/caller_queue.hpp"

namespace jobbie::node {

class BulkRunner final : public call::Inbox {
 public:
  static constexpr std::size_t kStepJobs = 250;
  static constexpr std::uint32_t kSearchedJobs = 1000;
  static constexpr std::size_t kAtOnce = 32;  ///< operations; further requests wait

  struct Options {
    std::size_t bound = 1;             ///< requests that wait
    std::size_t bound_per_caller = 1;  ///< of one caller
  };

  /// `node` must take submissions until the runner has ended.
  /// `memory_room`: what jobs that come back to life may take.
  BulkRunner(call::Service& node, const Options& options,
             const std::atomic<std::uint64_t>& memory_room);
  /// Ends the thread; whoever still waits is told that the node is stopping.
  ~BulkRunner() override;

  void start();
  /// From the node's thread: whether this node is to carry recorded operations on. A node that
  /// leads does.
  void lead(bool leads);
  /// From the node's thread: another node may have recorded an operation.
  void look_again();
  /// From the node's thread: a call with a BulkQuery. Callers take turns.
  void take(std::unique_ptr<call::Call> call);

  /// The replies to what the runner has asked.
  void deliver(std::vector<std::unique_ptr<call::Call>> calls) override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Operation {
    std::unique_ptr<call::Call> call;         ///< who waits for the outcome; null: recorded
    std::optional<model::BulkRecord> record;  ///< as far as the runner knows
    call::BulkQuery query;
    Clock::time_point begun = Clock::now();
    std::deque<base::JobId> found;  ///< and not yet acted upon
    std::uint64_t searched = 0;     ///< up to this sequence
    std::uint64_t bound = base::kMaxSequence;
    bool all_found = false;
    command::BulkStepped outcome;
  };
  enum class Progress : std::uint8_t { goes_on, done, pauses };

  void run();
  bool wait_for_work();
  void resume();
  void adopt(const model::BulkRecord& record);
  void begin(std::unique_ptr<call::Call> call);
  void try_out(Operation operation);
  void launch(Operation operation, std::uint64_t matches);
  Progress step(Operation& operation);
  Progress search(Operation& operation);
  Progress act(Operation& operation);
  Progress after_step(Operation& operation, const call::Call& asked, const command::BulkStep& step);
  Progress in_trouble(Operation& operation, call::Trouble trouble);
  Progress catch_up(Operation& operation);
  std::optional<call::SliceAnswer> count(call::Call& call, const search::Filter& filter);
  void answer(Operation& operation);
  [[nodiscard]] std::size_t step_jobs(model::BulkAction action) const;
  Progress try_step(Operation& operation);

  /// Submits and waits. A question that `caller` waits for alone ends when that one hangs up.
  std::unique_ptr<call::Call> ask(call::Query query, const call::Call* caller = nullptr);
  /// With the caller's note for the audit log, which rides on the first proposal of its operation.
  std::unique_ptr<call::Call> propose(command::Command command, call::Call* caller = nullptr);
  std::unique_ptr<call::Call> submit(std::unique_ptr<call::Call> call);
  void rest();

  call::Service& node_;
  const std::atomic<std::uint64_t>& memory_room_;
  std::mutex mutex_;
  std::condition_variable changed_;
  CallerQueue<std::unique_ptr<call::Call>> waiting_;
  std::unique_ptr<call::Call> reply_;
  bool stopping_ = false;
  bool leads_ = false;
  bool resumed_ = true;  ///< all recorded operations that are this node's are in `operations_`
  std::deque<Operation> operations_;
  std::thread thread_;
};

}  // namespace jobbie::node
