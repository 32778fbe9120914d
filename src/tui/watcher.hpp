// Keeps a Snapshot up to date: an event stream tells when something changed, a few requests a
// second at most tell what.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "client/client.hpp"
#include "tui/model.hpp"

namespace jobbie::tui {

/// The part of a Look that decides what is asked for.
struct Wanted {
  View view = View::queues;
  std::string queue, worker, state, job_id;
  bool operator==(const Wanted&) const = default;
};

/// snapshot() and want() are for the thread that draws; two others ask and listen.
class Watcher {
 public:
  explicit Watcher(client::Client& client);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  void start();
  /// One round without threads.
  client::Result<void> look_once();
  Snapshot snapshot() const;
  void want(const Wanted& wanted);
  /// Ask again at once: something was done.
  void hurry();

 private:
  using Steady = std::chrono::steady_clock;

  void ask_loop();
  void listen_loop();
  bool read(const std::string& target, const std::function<void(const client::Json&)>& take);
  void ask_queues();
  void ask_stats();
  void ask_workers();
  void ask_cluster();
  void ask_jobs(const Wanted& wanted);
  void ask_job(const std::string& id);
  void trouble(const client::Error& error);
  void take_event(const client::Event& event);

  client::Client& client_;
  client::Interrupt interrupt_;
  mutable std::mutex mutex_;  ///< of what follows
  std::condition_variable woken_;
  Snapshot snapshot_;
  Wanted wanted_;
  bool over_ = false;
  bool hurried_ = false;
  std::optional<client::Error> error_;
  std::atomic<bool> changed_ = true;  ///< an event has come
  std::thread asker_, listener_;
};

}  // namespace jobbie::tui
