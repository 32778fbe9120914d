// The node: owns the clock, joins log, engine and store, and serves the faces.
//
// Calls go into a bounded intake. One thread, the node's, takes all that are there, makes entries
// of their commands, gets them durable through the log, applies them to the engine and gives the
// calls back. What the engine changed goes to the store behind it. Nothing goes the other way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/journal.hpp"
#include "base/result.hpp"
#include "call/call.hpp"
#include "node/clock.hpp"
#include "node/intake.hpp"

namespace jobbie::node {

/// The bounds of a node, in one place.
struct Bounds {
  std::size_t intake_calls = 50'000;
  std::size_t intake_bytes = std::size_t{128} << 20;
  std::size_t waiting_fetches = 100'000;
  std::size_t reads = 10'000;                           ///< questions to the database that wait
  std::size_t searches = 100;                           ///< searches that wait
  std::size_t bulks = 100;                              ///< bulk requests that wait
  std::size_t entry_bytes = std::size_t{1} << 20;       ///< an entry is closed when it passes this
  std::size_t round_bytes = std::size_t{8} << 20;       ///< entries that share one sync
  std::uint64_t unstored_rows = 300'000;                ///< changes ahead of the database
  base::Duration checkpoint = base::milliseconds(100);  ///< between two hand-overs to the store
};

struct Options {
  std::string data_dir;
  std::uint64_t node_id = 1;
  std::size_t segment_bytes = std::size_t{64} << 20;
  std::size_t cache_bytes = std::size_t{32} << 20;  ///< of the database
  Bounds bounds;
  Clock* clock = nullptr;            ///< null: the system's
  base::Journal* journal = nullptr;  ///< must outlive the node; null: silent
  /// Called once, on the node's thread, when it cannot go on: a write or a sync has failed, and
  /// nothing may be acknowledged any more. The process should end.
  std::function<void(const base::Error&)> on_fatal;
};

class Backups;
class BulkRunner;
class Driver;
class Readers;

class Node final : public call::Service {
 public:
  /// Opens or creates everything under `data_dir`, brings the engine to the end of the log, and
  /// starts the thread. Fails with a message that says what to do.
  static base::Result<std::unique_ptr<Node>> open(Options options);
  ~Node() override;

  void submit(std::unique_ptr<call::Call> call) override;
  void flush() override { intake_.flush(); }
  [[nodiscard]] bool ready() const override;
  [[nodiscard]] call::Health health() const override;
  [[nodiscard]] call::EventFeed* events() override;
  [[nodiscard]] const call::KeyBoard* keys() override;
  [[nodiscard]] call::Bell* outbox_bell() override;

  /// First step of a graceful stop: waiting fetches are answered with nothing, and no job is
  /// claimed any more; everything else still works.
  void drain();

  /// Stops the thread, writes a last checkpoint and closes the files. Calls that come later are
  /// refused. Idempotent.
  base::Result<void> stop();

 private:
  Node(Options options, std::unique_ptr<SystemClock> clock);
  void run();
  static void refuse(std::unique_ptr<call::Call> call, call::Trouble trouble);

  std::unique_ptr<SystemClock> own_clock_;
  Options options_;
  Intake intake_;
  std::unique_ptr<Readers> readers_;
  std::unique_ptr<Readers> searchers_;
  std::unique_ptr<BulkRunner> bulks_;
  std::unique_ptr<Backups> backups_;
  std::unique_ptr<Driver> driver_;
  std::thread thread_;
  std::atomic<bool> ready_ = false;
  std::atomic<bool> draining_ = false;
  std::atomic<bool> stopping_ = false;
  bool closed_ = false;
};

}  // namespace jobbie::node
