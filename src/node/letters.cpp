// What other nodes say, and what is said to them.
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "call/desk.hpp"
#include "node/bulk_runner.hpp"
#include "node/driver.hpp"

namespace jobbie::node {
namespace {

using cluster::Kind;

/// A copy that nobody has asked for in this time is removed.
constexpr std::int64_t kSnapshotKeptUs = 60'000'000;
constexpr std::int64_t kTellTimeUs = 250'000;
/// How long a new leader is waited for that a change of the cluster can be asked of.
constexpr std::int64_t kAskUs = 10'000'000;
/// One that could not be made is not tried again at once.
constexpr std::int64_t kSnapshotRetryUs = 5'000'000;

}  // namespace

void Driver::connect(peer::Transport& transport, const peer::Hello& self) {
  transport_ = &transport;
  remote_inbox_ = std::make_unique<RemoteInbox>(transport);
  forwarder_ = std::make_unique<Forwarder>(transport);
  membership_ = std::make_unique<Membership>(Membership::Context{
      .log = *log_, .transport = transport, .journal = options_.journal, .self = self});
  snapshots_ = std::make_unique<SnapshotMaker>(*store_, options_.data_dir + "/snapshots/made",
                                               [this] { intake_.wake(); });
  for (const auto& link : transport.status())
    if (link.outgoing) membership_->link(link.node_id, true);
  membership_->configured();
}

void Driver::announce(std::vector<std::string> addresses) {
  if (membership_) membership_->announce(std::move(addresses));
}

void Driver::take_mail(std::vector<Letter>& mail) {
  for (auto& letter : mail) {
    if (auto* frame = std::get_if<Frame>(&letter))
      take_frame(std::move(*frame));
    else if (auto* hello = std::get_if<peer::Hello>(&letter))
      membership_->note(*hello, now_us_);
    else if (auto* link = std::get_if<Link>(&letter))
      take_link(*link);
    else if (const auto* unheard = std::get_if<Unheard>(&letter))
      lose_track(unheard->node);
    else if (auto* incoming = std::get_if<peer::Incoming>(&letter))
      take_snapshot(std::move(*incoming));
    else if (auto* sent = std::get_if<Sent>(&letter)) {
      if (snapshots_under_way_ > 0) --snapshots_under_way_;
      snapshot_used_us_ = now_us_;
      log_->report_snapshot(sent->node, sent->arrived);
    }
  }
  mail.clear();
}

void Driver::take_frame(Frame frame) {
  switch (static_cast<Kind>(frame.kind)) {
    case Kind::log:
      if (log_->configuration().find(frame.from) == nullptr)
        membership_->tell_of_removal(frame.from, now_us_);
      if (frame.from == log_->leader_id()) hear_of_leader();
      return step(frame.bytes);
    case Kind::forward:
      return take_forward(frame);
    case Kind::reply:
      return take_reply(frame);
    case Kind::cancel:
      if (const auto call = cluster::decode_number(frame.bytes))
        remote_waiters_.cancel(frame.from, *call);
      return;
    case Kind::time:
      if (const auto ms = cluster::decode_number(frame.bytes);
          ms && frame.from == log_->leader_id() && served_term_ == 0)
        hear_time({static_cast<std::int64_t>(*ms)});
      return;
    case Kind::reckoning:
      if (const auto ms = cluster::decode_number(frame.bytes);
          ms && log_->configuration().is_voter(frame.from))
        reckoned_[frame.from] = {.log = {static_cast<std::int64_t>(*ms)}, .at_us = now_us_};
      return;
    case Kind::join:
      if (const auto member = cluster::decode_member(frame.bytes)) membership_->join(*member);
      return;
    case Kind::manage:
      return take_manage(frame);
    case Kind::managed:
      return take_managed(frame);
    case Kind::found:
      // Somebody who founded a cluster with us waits for our word.
      if (const auto founders = log::decode_configuration(frame.bytes);
          founders && founders->cluster_id == log_->configuration().cluster_id)
        transport_->send(frame.from, wire(Kind::founded),
                         cluster::encode_number(founders->cluster_id));
      return;
    case Kind::welcome:
      if (const auto welcome = cluster::decode_welcome(frame.bytes))
        log_->hear_of(welcome->configuration, welcome->index);
      return;
    case Kind::founded:
    case Kind::invite:
      return;  // this node has its log already
  }
}

/// What cannot be taken may be lost, as on any network; but where there is only no room before the
/// next write, that is done first.
void Driver::step(std::string_view message) {
  const auto stepped = log_->step(message);
  if (stepped || stepped.error().code != log::kLogBusy || broken_) return;
  if (auto pumped = pump(); !pumped) {
    broken_ = pumped.error();
    return;
  }
  static_cast<void>(log_->step(message));
}

/// A call of another node: into the backlog, as if its caller were here.
void Driver::take_forward(const Frame& frame) {
  auto forwarded = cluster::decode_forward(frame.bytes);
  if (!forwarded) {
    if (options_.journal != nullptr)
      options_.journal->write(base::Level::error, "frame_refused",
                              {{"message", std::string_view(forwarded.error().message)}});
    return;  // its sender will tell the caller that the outcome is not known
  }
  auto call = std::make_unique<RemoteCall>(*remote_inbox_, frame.from, forwarded->number);
  call->commands = std::move(forwarded->commands);
  call->audit = std::move(forwarded->audit);
  call->wait = forwarded->wait;
  if (!forwarded->key_digest.empty()) {
    call->grant = ring_->find(forwarded->key_digest);
    if (!call->grant) return give_back(std::move(call), call::Trouble::revoked);
  }
  const bool claims =
      !call->commands.empty() && std::holds_alternative<command::Claim>(call->commands.back());
  if (claims) {
    call->hung_up = std::make_shared<std::atomic<bool>>(false);
    remote_waiters_.add(frame.from, forwarded->number, call->hung_up);
  }
  const auto bytes = approximate_bytes(*call);
  backlog_.push_back({.call = std::move(call), .bytes = bytes});
}

void Driver::take_reply(const Frame& frame) {
  auto replied = cluster::decode_reply(frame.bytes);
  if (!replied) return;
  auto held = forwarder_->take(replied->number);
  if (!held.call) return;
  // Nothing was done: whoever leads now may do it. A claim that waited there has not waited for a
  // leader.
  if (replied->trouble == call::Trouble::no_leader || replied->trouble == call::Trouble::stopping) {
    if (held.wait_until_us > now_us_) held.since_us = now_us_;
    return hold(std::move(held));
  }
  seen_index_ = std::max(seen_index_, replied->index);
  held.call->trouble = replied->trouble;
  if (replied->trouble != call::Trouble::none && held.call->perhaps_done)
    held.call->trouble = call::Trouble::lost_track;
  held.call->replies = std::move(replied->replies);
  held.call->commands.clear();
  outbox_.add(std::move(held.call));
}

void Driver::take_link(const Link& link) {
  membership_->link(link.node, link.up);
  if (link.up) return;
  log_->report_unreachable(link.node);
  remote_waiters_.cancel_all(link.node);
  lose_track(link.node);
}

/// What was sent to that node, or came from it, may be lost.
void Driver::lose_track(std::uint64_t node) {
  come_back_empty(forwarder_->take_all(node));
  if (log_->leader_id() != 0 && log_->leader_id() != node) return;
  for (auto& [number, asked] : std::exchange(managing_, {}))
    give_back(std::move(asked.call), call::Trouble::lost_track);
}

/// Calls that were sent to a leader that is away: nobody knows what it has done.
void Driver::come_back_empty(std::vector<Held> calls) {
  for (auto& held : calls) {
    if (is_repeatable(*held.call)) {
      held.since_us = now_us_;
      held.call->perhaps_done = true;
      hold(std::move(held));
    } else {
      give_back(std::move(held.call), call::Trouble::lost_track);
    }
  }
}

/// The log's messages. A snapshot goes with its file, on a connection of its own.
void Driver::send(const consensus::MessageView& message) {
  if (transport_ == nullptr) return;
  if (message.snapshot_index == 0) {
    if (!transport_->send(message.to, wire(Kind::log), std::string(message.bytes)))
      unreachable_.push_back(message.to);
    return;
  }
  ++snapshots_under_way_;
  if (options_.journal != nullptr)
    options_.journal->write(base::Level::info, "sending_snapshot",
                            {{"to", message.to}, {"index", message.snapshot_index}});
  transport_->send_snapshot(message.to, std::string(message.bytes), snapshots_->path(),
                            [mailbox = &mailbox_, to = message.to](base::Result<void> done) {
                              mailbox->put(Sent{.node = to, .arrived = done.has_value()});
                            });
}

void Driver::take_snapshot(peer::Incoming incoming) {
  const auto verdict = log_->judge(incoming.header);
  if (options_.journal != nullptr)
    options_.journal->write(base::Level::info, "snapshot_arrived",
                            {{"from", incoming.from},
                             {"bytes", incoming.bytes},
                             {"wanted", verdict.has_value() && *verdict == log::Verdict::wanted}});
  if (adoption_ || !verdict || *verdict == log::Verdict::stale)
    return transport_->finish(incoming.token, false);
  if (*verdict == log::Verdict::present) return leave(incoming);
  adoption_.emplace(Adoption{std::move(incoming)});
}

/// The log may have got on by itself since the snapshot came.
bool Driver::has_adoption() {
  if (!adoption_) return false;
  const auto verdict = log_->judge(adoption_->incoming.header);
  if (verdict && *verdict == log::Verdict::wanted) return true;
  if (verdict && *verdict == log::Verdict::present)
    leave(adoption_->incoming);
  else
    transport_->finish(adoption_->incoming.token, false);
  adoption_.reset();
  return false;
}

/// There is no need of it any more, and its sender may go on.
void Driver::leave(const peer::Incoming& incoming) {
  std::error_code ignored;
  std::filesystem::remove(incoming.path, ignored);
  transport_->finish(incoming.token, true);
}

void Driver::upkeep_cluster() {
  if (transport_ == nullptr) return;
  membership_->upkeep(now_us_, serving_);
  ask_leader_again();
  tell_time();
  remote_inbox_->send_kept(now_us_);
  remote_waiters_.tidy();
  upkeep_snapshots();
}

/// Whoever follows would know the log's time from entries alone, and there may be none for hours.
/// Without a leader all say what they take it to be: whoever leads next may have a wrong clock.
void Driver::tell_time() {
  const bool leaderless = log_->leader_id() == 0;
  if ((!serving_ && !leaderless) || now_us_ < next_time_us_) return;
  next_time_us_ = now_us_ + kTellTimeUs;
  const auto kind = wire(serving_ ? Kind::time : Kind::reckoning);
  for (const auto& member : log_->configuration().members)
    if (member.id != log_->node_id())
      static_cast<void>(transport_->send(
          member.id, kind, cluster::encode_number(static_cast<std::uint64_t>(now().ms))));
}

/// What was said a while ago comes after a silence, many at once: of that, only the latest may
/// count.
void Driver::hear_time(base::Instant leader) {
  const auto since = now_us_ - std::exchange(heard_time_us_, now_us_);
  const bool in_time = since > kTellTimeUs / 4 && since < kTellTimeUs * 4;
  leader = std::max(leader, engine_->now());
  if (knows_time_ && !in_time) leader = std::max(leader, log_clock_->now());
  log_clock_->follow(leader);
  knows_time_ = true;
}

void Driver::upkeep_snapshots() {
  if (const auto made = snapshots_->result()) {
    const auto offered = *made ? log_->offer_snapshot(**made) : std::unexpected(made->error());
    if (!offered) snapshot_retry_us_ = now_us_ + kSnapshotRetryUs;
    lacks_room_for_snapshot_ = !offered && offered.error().code == "disk_full";
    if (!offered && options_.journal != nullptr)
      options_.journal->write(base::Level::error, "snapshot_failed",
                              {{"code", std::string_view(offered.error().code)},
                               {"message", std::string_view(offered.error().message)}});
    snapshot_used_us_ = now_us_;
    for (auto& call : std::exchange(wanted_snapshots_, {})) {
      call->answer = *made ? call::ClusterAnswer{}
                           : call::ClusterAnswer{"snapshot_failed", made->error().message};
      outbox_.add(std::move(call));
    }
  }
  const bool needed = log_->leader() && log_->wants_snapshot() && now_us_ >= snapshot_retry_us_;
  const bool wanted = needed || !wanted_snapshots_.empty();
  if (wanted && !snapshots_->busy() && snapshots_under_way_ == 0) {
    hand_over();
    snapshots_->start();
  } else if (snapshot_used_us_ != 0 && snapshots_under_way_ == 0 && !snapshots_->busy() &&
             now_us_ - snapshot_used_us_ > kSnapshotKeptUs) {
    snapshot_used_us_ = 0;
    log_->withdraw_snapshot();
    snapshots_->remove();
  }
}

/// A follower that is a little behind shall find in the log what it lacks.
std::uint64_t Driver::cut_point() const {
  const auto durable = store_->durable_index();
  if (transport_ == nullptr || log_->bytes() > options_.log_retain_bytes * 4) return durable;
  if (log_->bytes() <= options_.log_retain_bytes) return 0;
  auto needed = durable;
  for (const auto& member : log_->configuration().members)
    if (const auto progress = log_->progress(member.id);
        progress && progress->recently_active && member.id != log_->node_id())
      needed = std::min(needed, progress->matched);
  return needed;
}

/// The note for the audit log goes ahead: what is asked for is no command.
void Driver::write_down(call::Call& call) {
  if (!call.audit) return;
  auto note = std::make_unique<call::PlainCall>(silence_);
  note->commands.emplace_back(*std::exchange(call.audit, std::nullopt));
  backlog_.push_back({.call = std::move(note), .bytes = 0});
}

/// Somebody wants the cluster changed: the leader sees to it, whichever node was asked.
void Driver::manage(std::unique_ptr<call::Call> call) {
  const auto& change = std::get<call::ClusterChange>(call->query);
  const auto refuse = [&](std::string code, std::string message) {
    call->answer = call::ClusterAnswer{std::move(code), std::move(message)};
    outbox_.add(std::move(call));
  };
  if (transport_ == nullptr)
    return refuse("not_a_cluster", "This server was not started with --cluster.");
  write_down(*call);
  if (change.action == call::ClusterAction::snapshot)
    return wanted_snapshots_.push_back(std::move(call));
  if (log_->leader()) {
    // Shared, because a function has to be copyable; the answer comes once.
    auto waiting = std::make_shared<std::unique_ptr<call::Call>>(std::move(call));
    const auto wanted = change;
    return membership_->ask(wanted, now_us_, [this, waiting](call::ClusterAnswer answer) {
      if (answer.code == "not_leader") return questions_.push_back(std::move(*waiting));
      (*waiting)->answer = std::move(answer);
      outbox_.add(std::move(*waiting));
    });
  }
  if (!transport_->send(log_->leader_id(), wire(Kind::manage),
                        cluster::encode_manage(next_manage_, change)))
    return give_back(std::move(call), call::Trouble::no_leader);
  managing_.emplace(next_manage_++, Managing{.call = std::move(call), .since_us = now_us_});
}

/// A leader that is to be removed first makes way for another: that one has to be asked then.
void Driver::ask_leader_again() {
  for (auto& asked : std::exchange(asked_in_vain_, {})) {
    if (asked.since_us + kAskUs < now_us_) {
      give_back(std::move(asked.call), call::Trouble::no_leader);
    } else if (log_->leader()) {
      manage(std::move(asked.call));
    } else if (transport_->send(log_->leader_id(), wire(Kind::manage),
                                cluster::encode_manage(next_manage_, std::get<call::ClusterChange>(
                                                                         asked.call->query)))) {
      managing_.emplace(next_manage_++, std::move(asked));
    } else {
      asked_in_vain_.push_back(std::move(asked));
    }
  }
}

void Driver::take_manage(const Frame& frame) {
  auto wanted = cluster::decode_manage(frame.bytes);
  if (!wanted) return;
  const auto answer = [transport = transport_, from = frame.from,
                       asked = wanted->first](call::ClusterAnswer outcome) {
    transport->send(from, wire(Kind::managed),
                    cluster::encode(cluster::Managed{asked, std::move(outcome)}));
  };
  if (!log_->leader()) return answer({"not_leader", "Another node leads now."});
  membership_->ask(wanted->second, now_us_, answer);
}

void Driver::take_managed(const Frame& frame) {
  auto managed = cluster::decode_managed(frame.bytes);
  if (!managed) return;
  const auto found = managing_.find(managed->number);
  if (found == managing_.end()) return;
  auto asked = std::move(found->second);
  managing_.erase(found);
  if (managed->answer.code == "not_leader") return asked_in_vain_.push_back(std::move(asked));
  asked.call->answer = std::move(managed->answer);
  outbox_.add(std::move(asked.call));
}

}  // namespace jobbie::node
