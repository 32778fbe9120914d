// What the threads of a worker share. Not part of the public interface.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/worker.hpp"

namespace jobbie::client {

using Steady = std::chrono::steady_clock;

/// One job between claim and report. Guarded by its mutex but for `job`, which does not change.
struct Context::Running {
  Job job;
  std::mutex mutex;
  std::condition_variable changed;
  Stop stop = Stop::none;
  std::string progress;    ///< not sent yet; empty: none
  std::string checkpoint;  ///< likewise
  Steady::time_point lease_until;
  bool abandoned = false;          ///< reported by somebody else
  bool settled = false;            ///< the handler has returned; its outcome is being reported
  std::function<void()> ask_beat;  ///< there is something to send soon

  void tell(Stop reason);
};

/// Owned together by the Worker and by every thread that runs handlers: a handler that does not
/// return keeps alive all that it can reach through its Context, the connections included.
struct Worker::State {
  State(Client shared, WorkerOptions wanted)
      : client(std::move(shared)), options(std::move(wanted)) {}

  /// A thread that runs handlers, one after the other.
  struct HandlerThread {
    std::thread thread;
    bool done = false;  ///< it touches nothing any more, and can be joined without waiting
  };

  Client client;
  WorkerOptions options;
  std::vector<std::pair<std::string, Handler>> handlers;
  Interrupt interrupt;

  std::mutex mutex;
  std::condition_variable work;   ///< jobs wait for a thread, or the end
  std::condition_variable freed;  ///< a thread is free, or stop was asked for
  std::condition_variable beat;
  std::deque<std::shared_ptr<Context::Running>> waiting;
  std::map<std::string, std::shared_ptr<Context::Running>> running;  ///< waiting ones too
  std::vector<HandlerThread> threads;
  int threads_alive = 0;    ///< started, and not done
  int threads_in_jobs = 0;  ///< of these, in a handler or reporting for one
  int claimed = 0;
  bool introduced = false;  ///< of the fetching thread
  std::atomic<bool> beat_asked = false;
  bool stopping = false;
  bool aborted = false;
  bool cut_short = false;  ///< aborted while jobs were running
  bool ended = false;
  std::optional<Error> unreported;  ///< why an outcome could not be reported, the latest

  std::mutex note_mutex;  ///< held while on_note runs; taken last

  // worker.cpp
  void note(const std::string& text);
  /// From here on on_note is not called: what it refers to may go when run() returns.
  void end_notes();
  Result<void> introduce();
  Result<int> fetch(int count);
  void accept(const Document& answer);
  void work_loop(std::size_t number);
  void do_job(const std::shared_ptr<Context::Running>& own);
  Outcome call_handler(Context& context, const std::string& queue);
  void report(Context::Running& own, const Outcome& outcome, bool patient);
  Result<void> try_report(const Job& job, const Outcome& outcome);
  bool may_report_again(Context::Running& own, Steady::time_point at_least_until);

  // heartbeat.cpp
  void beat_loop();
  void beat_once();
  void take_beat(const Document& answer, Steady::time_point sent);
  void expire_leases();
  std::chrono::milliseconds until_next_beat();
};

}  // namespace jobbie::client
