// The Raft core as C++ sees it: step in, output out, no I/O.
//
// One Core is one replica. It belongs to one thread. It never touches a disk or a socket: a Ready
// says what has to be written, sent and applied, and the driver (log/) does it in the order that
// log/DESIGN.md gives. A broken invariant inside the core aborts the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace jobbie::consensus {

/// Ticks are the driver's clock. A node waits for a leader for one to two times the election
/// time-out, in whole ticks: the finer they are, the less often two nodes lose patience at once.
inline constexpr std::uint64_t kElectionTicks = 20;
inline constexpr std::uint64_t kHeartbeatTicks = 2;
/// How much is under way to one follower: 4 MiB, unless single entries are larger. A follower that
/// catches up gets all that at once, from the disk, and the leader does nothing else meanwhile.
inline constexpr std::uint64_t kMaxMessageBytes = 256u << 10;
inline constexpr std::uint64_t kMaxInflightMessages = 16;
/// Committed entries are handed out in portions of about this size, so that a long log streams.
inline constexpr std::uint64_t kMaxCommittedBytesPerReady = 4u << 20;

enum class EntryType : std::uint32_t { plain = 0, conf_change = 1, conf_change_v2 = 2 };

struct EntryView {
  std::uint64_t index = 0;
  std::uint64_t term = 0;
  EntryType type = EntryType::plain;
  std::string_view data;
};

/// A point in the log: the index of an entry and its term.
struct Position {
  std::uint64_t index = 0;
  std::uint64_t term = 0;
  bool operator==(const Position&) const = default;
};

/// All entries from `first_index` up to the next run have this term.
struct TermRun {
  std::uint64_t first_index = 0;
  std::uint64_t term = 0;
  bool operator==(const TermRun&) const = default;
};

struct HardState {
  std::uint64_t term = 0;
  std::uint64_t vote = 0;
  std::uint64_t commit = 0;
  bool operator==(const HardState&) const = default;
};

struct MessageView {
  std::uint64_t to = 0;
  std::uint64_t term = 0;
  std::uint64_t index = 0;
  std::uint64_t snapshot_index = 0;
  std::uint32_t type = 0;
  bool reject = false;
  std::string_view bytes;
};

struct ReadView {
  std::uint64_t index = 0;
  std::string_view context;
};

struct SnapshotView {
  Position at;
  std::string_view conf_state;
  std::string_view data;
};

/// What the core wants done. Its views are valid until it is advanced; status() and
/// apply_conf_change() leave them as they are.
struct Ready {
  std::uint64_t number = 0;
  std::optional<HardState> hard_state;
  /// Term or vote differ from what was last given out: no message may leave before they are
  /// durable.
  bool term_or_vote_changed = false;
  bool must_sync = false;
  std::optional<SnapshotView> snapshot;
  std::span<const EntryView> entries;    ///< to be written
  std::span<const EntryView> committed;  ///< to be applied
  std::span<const MessageView> messages;
  /// The messages promise what this Ready writes: they leave once it and all before are durable.
  bool messages_wait_for_sync = false;
  std::span<const ReadView> reads;
};

/// What a durable Ready allows.
struct LightReady {
  std::optional<std::uint64_t> commit;
  std::span<const EntryView> committed;
  std::span<const MessageView> messages;
};

enum class Role : std::uint32_t { follower = 0, candidate = 1, leader = 2, pre_candidate = 3 };

struct Status {
  std::uint64_t term = 0;
  std::uint64_t vote = 0;
  std::uint64_t commit = 0;
  std::uint64_t applied = 0;
  std::uint64_t persisted = 0;
  std::uint64_t first_index = 0;
  std::uint64_t last_index = 0;
  std::uint64_t leader = 0;  ///< 0: unknown
  std::uint64_t transferee = 0;
  std::uint64_t election_timeout_ticks = 0;
  std::uint64_t window_bytes = 0;  ///< of entries held in memory
  Role role = Role::follower;
  bool promotable = false;
  bool pending_conf_change = false;
  bool joint = false;
  bool wants_snapshot = false;
  bool sole_voter = false;  ///< we are the only voter there is
};

struct Progress {
  std::uint64_t matched = 0;
  std::uint64_t next = 0;
  std::uint32_t state = 0;  ///< 0 probe, 1 replicate, 2 snapshot
  bool paused = false;
  bool recently_active = false;
};

/// Takes entries of a fetch, in order.
using EntrySink = std::function<void(const EntryView&)>;

/// Which entries a fetch is about: [low, high), at least one, and more while the whole comes to no
/// more than `max_bytes`.
struct FetchRange {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t max_bytes = 0;
};

/// Reads entries that the core no longer holds. False if the log cannot be read: then the core
/// hands out nothing, and the driver must stop.
using Fetch = std::function<bool(const FetchRange&, const EntrySink&)>;

/// The state that a core starts from: what the log on disk says. The caller keeps
/// base.index <= applied <= hard_state.commit <= last_index.
struct Start {
  std::uint64_t id = 0;
  std::uint64_t seed = 0;  ///< of the election time-outs
  std::uint64_t election_ticks = kElectionTicks;
  std::uint64_t applied = 0;
  HardState hard_state;
  Position base;  ///< the entry before the first one in the log
  std::uint64_t last_index = 0;
  std::span<const TermRun> runs;
  std::string_view conf_state;
  Fetch fetch;
};

/// The configuration of these nodes and nobody else, as `Start::conf_state` takes it.
[[nodiscard]] std::string conf_state_of(std::span<const std::uint64_t> voters,
                                        std::span<const std::uint64_t> learners = {});

class Core {
 public:
  [[nodiscard]] static base::Result<std::unique_ptr<Core>> make(const Start& start);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // In. Refusals have the codes `dropped` (not now, or not here), `unknown_peer`, `conf_change`,
  // `malformed`, `misuse` and `raft`.
  void tick();
  [[nodiscard]] base::Result<void> step(std::string_view message);
  [[nodiscard]] base::Result<void> campaign();
  /// Copies `payloads`; on the leader only.
  [[nodiscard]] base::Result<void> propose(std::span<const std::string_view> payloads);
  [[nodiscard]] base::Result<void> propose_conf_change(std::string_view change_v2);
  /// For a committed entry of another type than plain, before advance_apply_to. Gives the
  /// configuration now.
  [[nodiscard]] base::Result<std::string> apply_conf_change(const EntryView& entry);
  void read_index(std::string_view context);
  void transfer_leader(std::uint64_t to);
  void report_unreachable(std::uint64_t id);
  /// Always, also on failure and time-out: the follower waits for it.
  void report_snapshot(std::uint64_t id, bool arrived);

  // Out. Each Ready is advanced, one way or the other, before the next one is taken.
  [[nodiscard]] bool has_ready() const;
  [[nodiscard]] std::optional<Ready> ready();
  [[nodiscard]] LightReady advance_append();
  void advance_append_async();
  void on_persist(std::uint64_t number);
  void advance_apply_to(std::uint64_t index);

  // The log.
  /// A state that can be sent to followers; `data` travels in the message. There is none at first.
  [[nodiscard]] base::Result<void> set_snapshot(const SnapshotView& snapshot);
  /// There is no such state any more.
  void clear_snapshot();
  [[nodiscard]] base::Result<void> compact(std::uint64_t index);
  void evict(std::uint64_t index, std::size_t keep_bytes);

  [[nodiscard]] Status status() const;
  [[nodiscard]] std::optional<Progress> progress(std::uint64_t id) const;

 private:
  struct Impl;
  explicit Core(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace jobbie::consensus
