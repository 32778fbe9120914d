// A node: the real log, core and engine over a simulated disk, and around them the rules that the
// product's node keeps, in small.
//
// Its database is a file with all items and the entry they belong to, written now and then behind
// the engine; the log is cut behind it once it is durable. A snapshot is such a file.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "log/log.hpp"
#include "log/sim_disk.hpp"
#include "node/clock.hpp"
#include "tests/cluster_sim/history.hpp"
#include "tests/sim/store.hpp"

namespace jobbie::cluster_sim {

class World;

/// A call on its way, and the node that the client has called.
struct Call {
  OpPointer op;
  NodeId origin = 0;
  std::int64_t since_us = 0;
};

class SimNode final : public node::Clock {
 public:
  SimNode(World& world, NodeId id, log::Configuration founders, std::uint64_t index);
  ~SimNode() override;
  SimNode(const SimNode&) = delete;
  SimNode& operator=(const SimNode&) = delete;

  [[nodiscard]] NodeId id() const { return id_; }
  [[nodiscard]] bool up() const { return up_; }
  [[nodiscard]] bool gone() const { return gone_; }
  [[nodiscard]] bool leads() const { return up_ && log_->leader(); }
  [[nodiscard]] bool removed() const { return up_ && log_->removed(); }
  [[nodiscard]] log::Log& log() { return *log_; }
  [[nodiscard]] engine::Engine& engine() { return *engine_; }
  [[nodiscard]] std::uint64_t applied() const { return applied_; }
  [[nodiscard]] bool stopped() const;  ///< by a signal, or waiting for its disk

  void start();
  /// The process ends; what it wrote stays.
  void kill();
  /// The power goes within the next `operations` operations of the disk, or soon after.
  void lose_power(std::uint64_t operations);
  /// An operation of the disk fails soon.
  void fail_disk(std::uint64_t operations);
  void set_disk_space(bool full);
  void pause(std::int64_t us);
  void slow_disk(std::int64_t us) { disk_delay_ = us; }
  void move_wall(std::int64_t us) { wall_offset_ += us; }
  void follow_wall(std::int64_t us) { wall_offset_ = us; }
  [[nodiscard]] std::int64_t wall_offset() const { return wall_offset_; }
  /// Never to run again.
  void retire();
  /// An empty disk, as it was new.
  void replace_disk();

  // From outside. Each is done when the node comes to it.
  void receive(NodeId from, std::string message);
  void receive_snapshot(NodeId from, std::string message, std::shared_ptr<const std::string> file,
                        std::function<void(bool)> report);
  void call(Call call);
  void call_answered(std::uint64_t index);
  /// Does `action` if the node still runs as the same process.
  void later(std::int64_t delay, std::function<void()> action);
  /// Something was done to the log from outside: go on from there.
  void turn();
  [[nodiscard]] std::uint64_t seen() const { return seen_; }

 private:
  struct Proposal {
    std::uint64_t index = 0;
    std::uint64_t term = 0;
    std::vector<Call> calls;
    std::vector<std::pair<std::size_t, std::size_t>> shares;
    bool tick = false;
  };
  struct Answer {
    Call call;
    Outcome outcome = Outcome::ok;
    std::uint64_t index = 0;
    std::vector<command::Reply> replies;
  };
  struct Offer {
    std::uint64_t index = 0;
    std::shared_ptr<const std::string> file;
  };
  struct Sent {
    NodeId to = 0;
    std::uint64_t snapshot_index = 0;
    std::string message;
  };

  std::int64_t wall_us() override;
  std::int64_t steady_us() override;

  // sim_node.cpp: life, and what goes round.
  void tell_configuration(const log::Configuration& configuration, std::uint64_t index);
  bool boot_node();
  void die(const char* why);
  void input(std::function<void()> action);
  void drain_inbox();
  void schedule_tick();
  void tick();
  bool pump();
  void apply(const log::Committed& committed);
  void send_messages();
  void send_answers();

  // sim_node_lead.cpp: calls, and what only a leader does.
  void hear_of_leader();
  bool duties();
  bool begin_lead();
  bool propose_due();
  bool propose(command::Entry entry, std::vector<Call> calls, bool tick);
  void settle(const log::Committed& committed, const std::vector<command::Reply>& replies);
  void forward_backlog();
  void reply(Call call, Outcome outcome, std::uint64_t index = 0,
             std::vector<command::Reply> replies = {});
  void expire_calls();
  void read(Call call);
  void answer_reads();
  [[nodiscard]] base::Duration lost_time(base::Instant now) const;

  // sim_node_files.cpp: checkpoints and snapshots.
  [[nodiscard]] std::string make_file();
  bool load_file(std::string_view bytes);
  bool load_state();
  [[nodiscard]] std::optional<std::string> read_file(const std::string& path);
  bool write_file(const std::string& path, std::string_view bytes);
  void begin_checkpoint();
  void finish_checkpoint(std::uint64_t index);
  bool offer_snapshot();
  void send_snapshot(const Sent& sent);
  void adopt(NodeId from, const std::string& message, std::uint64_t index,
             const std::function<void(bool)>& report);

  World& world_;
  NodeId id_;
  log::Configuration founders_;
  std::uint64_t founders_index_ = 0;  ///< of one that joins: from which entry on they hold
  std::int64_t rate_ppm_ = 0;         ///< how much its clocks are too fast
  std::int64_t wall_offset_ = 0;
  std::unique_ptr<log::SimDisk> disk_;
  bool up_ = false;
  bool gone_ = false;
  bool powerless_ = false;   ///< the next start finds what a power loss left
  std::uint64_t epoch_ = 0;  ///< of the process
  std::int64_t paused_until_ = 0;
  std::int64_t disk_delay_ = 0;
  std::deque<std::function<void()>> inbox_;
  std::uint64_t durable_term_ = 0;

  // Of the process.
  sim::Store store_;
  std::unique_ptr<log::Log> log_;
  std::unique_ptr<engine::Engine> engine_;
  std::uint64_t applied_ = 0;
  std::uint64_t applied_term_ = 0;
  std::uint64_t durable_ = 0;     ///< entry of the durable checkpoint
  std::uint64_t writing_ = 0;     ///< entry of the checkpoint that is being written; 0: none
  std::int64_t led_us_ = 0;       ///< how long somebody has led since the latest entry
  std::int64_t heard_us_ = 0;     ///< steady, when a leader was last heard of
  std::uint64_t operations_ = 0;  ///< of the disk, when the turn began
  std::vector<Sent> sent_;
  std::vector<Answer> answers_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Proposal> proposals_;  ///< by index and term
  std::deque<Call> backlog_;
  std::map<std::uint64_t, Call> strong_reads_;                 ///< by context, waiting for an index
  std::vector<std::pair<std::uint64_t, Call>> waiting_reads_;  ///< for that index to be applied
  std::uint64_t seen_ = 0;  ///< of calls answered through this node
  std::optional<Offer> offer_;
  bool adopting_ = false;

  // Of its time as leader.
  std::uint64_t lead_term_ = 0;  ///< the term in which it has taken up its duties; 0: none
  std::optional<node::LogClock> log_clock_;
  bool tick_proposed_ = false;
};

}  // namespace jobbie::cluster_sim
