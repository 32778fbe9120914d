// The wrapper around the C interface: owns the core, turns its structs into views.
#include "consensus/core.hpp"

#include <array>
#include <utility>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "consensus/raft_core.h"

namespace jobbie::consensus {
namespace {

// Of ConfState: fields 1 and 2, packed.
constexpr std::uint8_t kVotersTag = 0x0a;
constexpr std::uint8_t kLearnersTag = 0x12;

std::string_view view(const raft_core_slice& slice) { return {slice.data, slice.bytes}; }
raft_core_slice slice(std::string_view text) { return {text.data(), text.size()}; }

EntryView view(const raft_core_entry& e) {
  return {e.index, e.term, EntryType{e.type}, std::string_view(e.data, e.bytes)};
}
MessageView view(const raft_core_message& m) {
  return {.to = m.to,
          .term = m.term,
          .index = m.index,
          .snapshot_index = m.snapshot_index,
          .type = m.type,
          .reject = m.reject != 0,
          .bytes = std::string_view(m.data, m.bytes)};
}
ReadView view(const raft_core_read& r) { return {r.index, view(r.context)}; }

template <typename View, typename C>
std::span<const View> views(const C* from, std::size_t count, std::vector<View>& into) {
  into.clear();
  for (const C& c : std::span(from, count)) into.push_back(view(c));
  return into;
}

const char* code_name(int code) {
  switch (code) {
    case RAFT_CORE_DROPPED:
      return "dropped";
    case RAFT_CORE_UNKNOWN_PEER:
      return "unknown_peer";
    case RAFT_CORE_CONF_CHANGE:
      return "conf_change";
    case RAFT_CORE_MALFORMED:
      return "malformed";
    case RAFT_CORE_MISUSE:
      return "misuse";
    default:
      return "raft";
  }
}

}  // namespace

struct Core::Impl {
  struct Free {
    void operator()(raft_core* used) const { raft_core_free(used); }
  };
  std::unique_ptr<raft_core, Free> core;
  Fetch fetch;
  std::vector<EntryView> entries;
  std::vector<EntryView> committed;
  std::vector<MessageView> messages;
  std::vector<ReadView> reads;
  std::vector<raft_core_slice> payloads;

  [[nodiscard]] raft_core* get() const { return core.get(); }

  [[nodiscard]] base::Result<void> outcome(int code) const {
    if (code >= 0) return {};
    return std::unexpected(base::Error{code_name(code), std::string(view(raft_core_error(get())))});
  }

  static int on_fetch(void* context, std::uint64_t low, std::uint64_t high, std::uint64_t max_bytes,
                      void* sink) {
    const auto& self = *static_cast<Impl*>(context);
    const bool fetched = self.fetch({low, high, max_bytes}, [sink](const EntryView& e) {
      const raft_core_entry entry{e.index, e.term, e.data.data(), e.data.size(),
                                  static_cast<std::uint32_t>(e.type)};
      raft_core_push_entry(sink, &entry);
    });
    return fetched ? 0 : 1;
  }
};

std::string conf_state_of(std::span<const std::uint64_t> voters,
                          std::span<const std::uint64_t> learners) {
  std::string out;
  base::ByteWriter writer(out);
  const auto add = [&](std::uint8_t tag, std::span<const std::uint64_t> ids) {
    if (ids.empty()) return;
    std::string packed;
    base::ByteWriter numbers(packed);
    for (const auto id : ids) numbers.var(id);
    writer.u8(tag);
    writer.bytes(packed);
  };
  add(kVotersTag, voters);
  add(kLearnersTag, learners);
  return out;
}

Core::Core(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Core::~Core() = default;

base::Result<std::unique_ptr<Core>> Core::make(const Start& start) {
  auto impl = std::make_unique<Impl>();
  impl->fetch = start.fetch;
  std::vector<raft_core_term_run> runs;
  for (const auto& run : start.runs) runs.push_back({run.first_index, run.term});
  const raft_core_config config{
      .id = start.id,
      .election_ticks = start.election_ticks,
      .heartbeat_ticks = kHeartbeatTicks,
      .max_message_bytes = kMaxMessageBytes,
      .max_inflight_messages = kMaxInflightMessages,
      .max_committed_bytes_per_ready = kMaxCommittedBytesPerReady,
      .max_uncommitted_bytes = UINT64_MAX,
      .seed = start.seed,
      .applied = start.applied,
      .term = start.hard_state.term,
      .vote = start.hard_state.vote,
      .commit = start.hard_state.commit,
      .base_index = start.base.index,
      .base_term = start.base.term,
      .last_index = start.last_index,
      .runs = runs.data(),
      .run_count = runs.size(),
      .conf_state = slice(start.conf_state),
      .fetch = &Impl::on_fetch,
      .context = impl.get(),
  };
  std::array<char, 512> error{};
  impl->core.reset(raft_core_new(&config, error.data(), error.size()));
  if (!impl->core) return std::unexpected(base::Error{"raft", error.data()});
  // The constructor is private, so make_unique cannot call it.
  return std::unique_ptr<Core>(new Core(std::move(impl)));
}

void Core::tick() { raft_core_tick(impl_->get()); }

base::Result<void> Core::step(std::string_view message) {
  return impl_->outcome(raft_core_step(impl_->get(), message.data(), message.size()));
}

base::Result<void> Core::campaign() { return impl_->outcome(raft_core_campaign(impl_->get())); }

base::Result<void> Core::propose(std::span<const std::string_view> payloads) {
  auto& slices = impl_->payloads;
  slices.clear();
  for (const auto payload : payloads) slices.push_back(slice(payload));
  return impl_->outcome(raft_core_propose(impl_->get(), slices.data(), slices.size()));
}

base::Result<void> Core::propose_conf_change(std::string_view change_v2) {
  return impl_->outcome(
      raft_core_propose_conf_change(impl_->get(), change_v2.data(), change_v2.size()));
}

base::Result<std::string> Core::apply_conf_change(const EntryView& entry) {
  raft_core_slice conf{};
  const auto code =
      raft_core_apply_conf_change(impl_->get(), static_cast<std::uint32_t>(entry.type),
                                  entry.data.data(), entry.data.size(), &conf);
  if (auto applied = impl_->outcome(code); !applied) return std::unexpected(applied.error());
  return std::string(view(conf));
}

void Core::read_index(std::string_view context) {
  raft_core_read_index(impl_->get(), context.data(), context.size());
}
void Core::transfer_leader(std::uint64_t to) { raft_core_transfer_leader(impl_->get(), to); }
void Core::report_unreachable(std::uint64_t id) { raft_core_report_unreachable(impl_->get(), id); }
void Core::report_snapshot(std::uint64_t id, bool arrived) {
  raft_core_report_snapshot(impl_->get(), id, arrived ? 1 : 0);
}

bool Core::has_ready() const { return raft_core_has_ready(impl_->get()) != 0; }

std::optional<Ready> Core::ready() {
  raft_core_ready_t c{};
  if (raft_core_ready(impl_->get(), &c) == 0) return std::nullopt;
  Ready ready;
  ready.number = c.number;
  if (c.has_hard_state != 0) ready.hard_state = HardState{c.term, c.vote, c.commit};
  ready.term_or_vote_changed = c.term_or_vote_changed != 0;
  ready.must_sync = c.must_sync != 0;
  if (c.has_snapshot != 0)
    ready.snapshot = SnapshotView{
        {c.snapshot_index, c.snapshot_term}, view(c.snapshot_conf_state), view(c.snapshot_data)};
  ready.entries = views(c.entries, c.entry_count, impl_->entries);
  ready.committed = views(c.committed, c.committed_count, impl_->committed);
  ready.messages = views(c.messages, c.message_count, impl_->messages);
  ready.messages_wait_for_sync = c.messages_wait_for_sync != 0;
  ready.reads = views(c.reads, c.read_count, impl_->reads);
  return ready;
}

LightReady Core::advance_append() {
  raft_core_ready_t c{};
  JOBBIE_CHECK(raft_core_advance_append(impl_->get(), &c) == RAFT_CORE_OK);
  LightReady light;
  if (c.has_commit != 0) light.commit = c.commit;
  light.committed = views(c.committed, c.committed_count, impl_->committed);
  light.messages = views(c.messages, c.message_count, impl_->messages);
  return light;
}

void Core::advance_append_async() {
  JOBBIE_CHECK(raft_core_advance_append_async(impl_->get()) == RAFT_CORE_OK);
}
void Core::on_persist(std::uint64_t number) { raft_core_on_persist(impl_->get(), number); }
void Core::advance_apply_to(std::uint64_t index) {
  raft_core_advance_apply_to(impl_->get(), index);
}

base::Result<void> Core::set_snapshot(const SnapshotView& snapshot) {
  return impl_->outcome(raft_core_set_snapshot(impl_->get(), snapshot.at.index, snapshot.at.term,
                                               slice(snapshot.conf_state), slice(snapshot.data)));
}
void Core::clear_snapshot() { raft_core_clear_snapshot(impl_->get()); }
base::Result<void> Core::compact(std::uint64_t index) {
  return impl_->outcome(raft_core_compact(impl_->get(), index));
}
void Core::evict(std::uint64_t index, std::size_t keep_bytes) {
  raft_core_evict(impl_->get(), index, keep_bytes);
}

Status Core::status() const {
  raft_core_status_t c{};
  raft_core_status(impl_->get(), &c);
  return {.term = c.term,
          .vote = c.vote,
          .commit = c.commit,
          .applied = c.applied,
          .persisted = c.persisted,
          .first_index = c.first_index,
          .last_index = c.last_index,
          .leader = c.leader,
          .transferee = c.transferee,
          .election_timeout_ticks = c.election_timeout_ticks,
          .window_bytes = c.window_bytes,
          .role = Role{c.role},
          .promotable = c.promotable != 0,
          .pending_conf_change = c.pending_conf_change != 0,
          .joint = c.joint != 0,
          .wants_snapshot = c.wants_snapshot != 0,
          .sole_voter = c.sole_voter != 0};
}

std::optional<Progress> Core::progress(std::uint64_t id) const {
  raft_core_progress_t c{};
  if (raft_core_progress(impl_->get(), id, &c) != RAFT_CORE_OK) return std::nullopt;
  return Progress{c.matched, c.next, c.state, c.paused != 0, c.recently_active != 0};
}

}  // namespace jobbie::consensus
