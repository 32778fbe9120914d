// The node: owns the clock, joins log, engine and store, and serves the faces.
//
// Calls go into a bounded intake. One thread, the node's, takes all that are there, makes entries
// of their commands, gets them durable through the log, applies them to the engine and gives the
// calls back. What the engine changed goes to the store behind it. Nothing goes the other way.
// Among several nodes the one that leads does this, and the others hand their calls on to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/journal.hpp"
#include "base/result.hpp"
#include "call/call.hpp"
#include "log/configuration.hpp"
#include "node/clock.hpp"
#include "node/intake.hpp"
#include "node/mailbox.hpp"
#include "node/memory_guard.hpp"
#include "node/shared.hpp"
#include "peer/transport.hpp"

namespace jobbie::node {

/// The bounds of a node, in one place.
struct Bounds {
  std::size_t intake_calls = 50'000;
  std::size_t intake_bytes = std::size_t{128} << 20;
  std::size_t waiting_fetches = 100'000;
  std::size_t reads = 10'000;                         ///< questions to the database that wait
  std::size_t searches = 400;                         ///< searches and lists that wait
  std::size_t searches_per_caller = 100;              ///< of those, of one key or address
  std::size_t bulks = 100;                            ///< bulk requests that wait
  std::size_t bulks_per_caller = 25;                  ///< of those, of one key or address
  std::size_t entry_bytes = std::size_t{1} << 20;     ///< an entry is closed when it passes this
  std::size_t request_bytes = std::size_t{32} << 20;  ///< the largest that a face lets in
  std::size_t round_bytes = std::size_t{8} << 20;     ///< entries that share one sync
  std::uint64_t unstored_rows = 200'000;              ///< changes ahead of the database
  std::uint64_t unstored_bytes = std::uint64_t{256} << 20;  ///< the same in bytes
  base::Duration checkpoint = base::milliseconds(100);      ///< between two hand-overs to the store
};

/// What a node of several needs to know.
struct ClusterOptions {
  std::string listen;              ///< "host:port" of the cluster port
  std::string address;             ///< as others reach it
  std::string http;                ///< of its API, as others reach it
  std::vector<std::string> peers;  ///< addresses of the others
  std::string discover;            ///< a name that stands for all; empty: `peers` are all
  std::size_t size = 3;            ///< with a name: how many there have to be for a new cluster
  std::string secret;
  std::optional<peer::TlsFiles> tls;
  /// Connections to the port that have proven nothing yet.
  std::size_t strangers = peer::Limits{}.strangers;
};

struct Options {
  std::string data_dir;
  std::string name = "node-1";
  std::size_t segment_bytes = std::size_t{64} << 20;
  std::size_t cache_bytes = std::size_t{32} << 20;  ///< of the database
  /// Of the log that is kept for nodes that are a little behind.
  std::size_t log_retain_bytes = std::size_t{256} << 20;
  base::Duration election_timeout = base::milliseconds(500);
  command::SetLimits limits;  ///< of the leader
  /// How long a queue is empty before it is forgotten; zero: it never is.
  base::Duration forget_queues_after = base::hours(1);
  std::optional<ClusterOptions> cluster;  ///< none: the node is alone
  Bounds bounds;
  MemoryOptions memory;
  Clock* clock = nullptr;            ///< null: the system's
  base::Journal* journal = nullptr;  ///< must outlive the node; null: silent
  /// Called once, on the node's thread, when it cannot go on: a write or a sync has failed, and
  /// nothing may be acknowledged any more. The process should end.
  std::function<void(const base::Error&)> on_fatal;
};

/// What a log is begun with where there is none.
struct Beginning {
  std::uint64_t node_id = 1;
  log::Configuration founders;
  std::uint64_t founders_index = 0;  ///< from which on they are; zero: from the beginning
};

class Backups;
class BulkRunner;
class Discovery;
class Driver;
class Readers;

/// Of nodes and clusters: 63 bits, never zero.
[[nodiscard]] std::uint64_t draw_id();

class Node final : public call::Service {
 public:
  /// Opens or creates everything under `data_dir`, brings the engine to the end of the log, and
  /// starts the thread. Fails with a message that says what to do. A node of several that has no
  /// log yet is open at once, and serves when it belongs to a cluster.
  static base::Result<std::unique_ptr<Node>> open(Options options);
  ~Node() override;

  void submit(std::unique_ptr<call::Call> call) override;
  void flush() override { intake_.flush(); }
  [[nodiscard]] bool ready() const override;
  [[nodiscard]] call::Health health() const override;
  [[nodiscard]] base::Instant now() const override {
    return {shared_.log_time_ms.load(std::memory_order_relaxed)};
  }
  [[nodiscard]] call::EventFeed* events() override { return &shared_.feed; }
  [[nodiscard]] const call::KeyBoard* keys() override { return &shared_.keys; }
  [[nodiscard]] call::Bell* outbox_bell() override { return &shared_.outbox_bell; }
  /// The port that other nodes connect to; zero: the node is alone.
  [[nodiscard]] std::uint16_t cluster_port() const;

  /// First step of a graceful stop: waiting fetches are answered with nothing, no job is claimed
  /// any more, and leadership goes to another node; everything else still works.
  void drain();

  /// Stops the thread, writes a last checkpoint and closes the files. Calls that come later are
  /// refused. Idempotent.
  base::Result<void> stop();

 private:
  struct Founding;

  Node(Options options, std::unique_ptr<SystemClock> clock);
  base::Result<void> open_alone();
  base::Result<void> open_cluster();
  base::Result<void> open_driver(const Beginning& beginning);
  base::Result<void> open_transport(const peer::Hello& self);
  [[nodiscard]] peer::Hello hello(std::uint64_t node_id, std::uint64_t cluster_id) const;
  void run();
  base::Result<void> turn();
  base::Result<void> try_turn();
  base::Result<void> swap_state();
  base::Result<void> reopen();
  // Until there is a log (founding.cpp).
  base::Result<void> form();
  void take_letters(Founding& founding);
  void take_frame(Founding& founding, const Frame& frame);
  void further(Founding& founding);
  void refuse_items(const Founding& founding);
  void fail(const base::Error& error);
  static void refuse(std::unique_ptr<call::Call> call, call::Trouble trouble);

  std::unique_ptr<SystemClock> own_clock_;
  Options options_;
  Shared shared_;
  Intake intake_;
  Mailbox mailbox_;
  std::unique_ptr<peer::Transport> transport_;
  peer::Hello self_;  ///< as the transport was opened with
  std::unique_ptr<Discovery> discovery_;
  std::unique_ptr<BulkRunner> bulks_;
  std::unique_ptr<Backups> backups_;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<Readers> readers_;
  std::unique_ptr<Readers> searchers_;
  std::vector<Intake::Item> items_;
  std::vector<Letter> mail_;
  std::thread thread_;
  std::atomic<bool> ready_ = false;
  std::atomic<bool> draining_ = false;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> may_stop_ = false;
  bool closed_ = false;
};

}  // namespace jobbie::node
