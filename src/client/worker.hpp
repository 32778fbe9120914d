// A worker: claims jobs of some queues, keeps their leases, and reports how they went.
//
//     Worker worker(client, {.concurrency = 4});
//     worker.handle("emails.*", [](Context& job) {
//       send(job.job().payload);
//       return Outcome::done(R"({"sent": true})");
//     });
//     return run_until_signal(worker) ? 0 : 1;
//
// SIGTERM, SIGINT or a closed terminal (SIGHUP) stops the fetching and waits for what runs; what
// does not end in time is told to stop, its last checkpoint is sent, and it fails with
// `worker_shutdown`, to be tried again elsewhere. A second signal, a moment later, ends it hard.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/client.hpp"

namespace jobbie::client {

/// A claimed job. What is JSON stays text.
struct Job {
  std::string id;
  std::string queue;
  std::string payload;
  std::string checkpoint = "null";  ///< what an earlier attempt left
  std::string tags = "{}";
  std::string batch_id;
  std::string group;
  std::string traceparent;
  std::string lease_id;
  std::chrono::milliseconds lease{60'000};
  int attempt = 1;
  int max_retries = 1;
};

/// How a job went. An exception that leaves a handler is a failure with its text.
struct Outcome {
  enum class Kind { done, failed };
  Kind kind = Kind::done;
  std::string result = "null";  ///< JSON
  std::string error;
  std::string backtrace;
  bool retry = true;
  std::optional<std::chrono::milliseconds> retry_in;

  static Outcome done(std::string result = "null");
  /// Tried again as the job's backoff says, while it has attempts.
  static Outcome failed(std::string error, std::string backtrace = {});
  static Outcome failed_for_good(std::string error, std::string backtrace = {});
  static Outcome try_again_in(std::chrono::milliseconds delay, std::string error);
  /// It was interrupted because the worker stops.
  static Outcome shutdown() { return failed("worker_shutdown"); }
};

/// Why a handler should come to an end.
enum class Stop {
  none,
  cancelled,  ///< somebody cancelled the job: whatever is reported, it ends as cancelled
  shutdown,   ///< the worker stops: leave a checkpoint and return Outcome::shutdown()
  lost,       ///< the lease is somebody else's: stop at once, nothing will be reported
};

/// What a handler sees of its job. Lives as long as the handler runs, even if that is longer than
/// the Worker and its Client live; used by its thread.
class Context {
 public:
  const Job& job() const;
  Stop stop() const;
  /// Sleeps; false as soon as there is a reason to stop.
  bool wait_for(std::chrono::milliseconds length) const;
  /// Sent with the next heartbeat, which comes soon.
  void progress(std::string json);
  void checkpoint(std::string json);
  /// A line for the job's log.
  Result<void> log(const std::string& message, const std::string& level = "info");

  struct Running;
  Context(Client& client, Running& running) : client_(client), running_(running) {}

 private:
  Client& client_;
  Running& running_;
};

using Handler = std::function<Outcome(Context&)>;

struct WorkerOptions {
  std::string id;        ///< unless given: host name, process and a random part
  std::string hostname;  ///< unless given: the machine's
  int concurrency = 1;
  std::chrono::milliseconds fetch_wait{30'000};    ///< of one long poll, at most 60 s
  std::optional<std::chrono::milliseconds> lease;  ///< unless given: the job's
  std::chrono::milliseconds drain{25'000};         ///< for running jobs after stop()
  std::chrono::milliseconds grace{3000};           ///< after they were told to stop
  std::vector<std::string> roles;
  std::vector<std::string> tags;
  int max_jobs = 0;             ///< return after so many; 0: never
  bool stop_when_idle = false;  ///< return once there is nothing to fetch
  /// Troubles that it lives with: a server that cannot be reached, a report that was refused.
  /// Called by several threads, one at a time, and never after run() has returned.
  std::function<void(const std::string&)> on_note;
};

/// stop() and abort() may be called from any thread; the rest is for one.
///
/// It shares the client's connections and does not refer to the Client itself. A handler that has
/// not returned `grace` after it was told to stop is left behind: run() returns, and the handler's
/// thread owns all it needs of the worker until it ends. What the handler itself refers to must
/// outlive it, so capture by value or by shared_ptr, or see handlers_left().
class Worker {
 public:
  Worker(Client& client, WorkerOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// A queue or a glob; the first that fits a job's queue takes it.
  void handle(std::string queue, Handler handler);
  /// Works until stop(); to be called once. An error means that the server will not have this
  /// worker (a wrong key, a malformed queue name); a server that is away is waited for, but not
  /// with stop_when_idle. With that or max_jobs it is also an error that an outcome could not be
  /// reported.
  Result<void> run();
  void stop();
  /// At once: handlers are told that their leases are lost, nothing more is reported, and run()
  /// gives Failure::interrupted.
  void abort();
  const std::string& id() const;
  /// Handlers that run now; after run() has returned, those that were left behind. While there are
  /// any, a program that has static objects they use ends by std::_Exit rather than by return.
  int handlers_left() const;

  struct State;

 private:
  /// Shared with the threads of handlers that do not return after everything else has.
  std::shared_ptr<State> state_;
};

/// run(), with SIGTERM, SIGINT and SIGHUP as described above. Call it before other threads are
/// started.
Result<void> run_until_signal(Worker& worker);

}  // namespace jobbie::client
