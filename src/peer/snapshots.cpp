// begin, data, data, …, end; and the receiver's verdict, with pings before it while it thinks.
#include "peer/snapshots.hpp"

#include <algorithm>
#include <chrono>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "peer/failure.hpp"
#include "peer/snapshot_file.hpp"

namespace jobbie::peer {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{256} << 10;

/// The longest frame of a snapshot: a piece of the file, or the header with its length.
std::size_t longest_frame(const Limits& limits) {
  return std::max(kChunkBytes, limits.snapshot_header_bytes + 64);
}

base::Result<void> judge(const Frame& frame) {
  if (frame.kind != number(OwnKind::snapshot_result))
    return failure("malformed", "the answer to a snapshot is something else");
  auto verdict = decode_verdict(frame.payload);
  if (!verdict) return std::unexpected(std::move(verdict.error()));
  if (verdict->code.empty()) return {};
  return failure("refused", verdict->code + ": " + verdict->message);
}

base::Result<void> send_file(Talk& talk, OutgoingFile& file) {
  std::vector<char> buffer(kChunkBytes);
  while (file.left() > 0) {
    const auto early = talk.look();
    if (!early) return std::unexpected(early.error());
    if (*early) {
      auto verdict = judge(**early);
      return verdict ? failure("refused", "the receiver ended it early") : verdict;
    }
    const auto bytes = file.read(buffer);
    if (!bytes) return std::unexpected(bytes.error());
    if (auto sent = talk.send(OwnKind::snapshot_data, *bytes); !sent) return sent;
  }
  const auto digest = file.digest();
  return talk.send(OwnKind::snapshot_end, base::bytes_of(digest));
}

/// What a caller of send_snapshot() may see; the rest is one of these.
base::Error outward(base::Error error) {
  for (const auto* known :
       {"not_connected", "busy", "io_error", "connection_lost", "stalled", "refused", "stopped"})
    if (error.code == known) return error;
  error.message = error.code + ": " + error.message;
  error.code = "connection_lost";
  return error;
}

}  // namespace

void SnapshotSender::send(Order order, const asio::ip::tcp::endpoint& to) {
  const auto shared = std::make_shared<Order>(std::move(order));  // by the thread, and by its end
  if (shared->header.size() > common_.limits().snapshot_header_bytes)
    return shared->done(failure("refused", "the header is longer than allowed"));
  const bool started = !stopping_ && workers_.start([this, shared, to, self = common_.self] {
    auto result = run(*shared, to, self);
    if (!result) result = std::unexpected(outward(std::move(result.error())));
    asio::post(common_.io, [this, shared, result = std::move(result)] {
      report(*shared, result);
      shared->done(result);
    });
  });
  if (started) return;
  if (stopping_)
    shared->done(failure("stopped", "this node is stopping"));
  else
    shared->done(failure("busy", "as many snapshots as may be are under way"));
}

base::Result<void> SnapshotSender::run(const Order& order, const asio::ip::tcp::endpoint& to,
                                       const Greeting& self) {
  auto file = OutgoingFile::open(order.path);
  if (!file) return std::unexpected(std::move(file.error()));
  auto talk = Talk::dial({.address = *to.data(),
                          .length = static_cast<unsigned>(to.size()),
                          .tls = common_.tls.get(),
                          .secret = common_.secret,
                          .self = self,
                          .longest_frame = longest_frame(common_.limits())},
                         common_.limits().stall_time, stopping_);
  if (!talk) return std::unexpected(std::move(talk.error()));
  if (talk->other().hello.node_id != order.node)
    return failure("connection_lost", "another node answers there now");
  std::string begin;
  encode(SnapshotBegin{.bytes = file->bytes(), .header = order.header}, begin);
  if (auto sent = talk->send(OwnKind::snapshot_begin, begin); !sent) return sent;
  if (auto sent = send_file(*talk, *file); !sent) return sent;
  for (;;) {
    const auto frame = talk->receive();
    if (!frame) return std::unexpected(frame.error());
    if (frame->kind != number(OwnKind::ping)) return judge(*frame);
  }
}

void SnapshotSender::report(const Order& order, const base::Result<void>& result) {
  if (result)
    common_.note(base::Level::info, "snapshot_sent", {{"node", order.node}});
  else
    common_.note(base::Level::warning, "snapshot_not_sent",
                 {{"node", order.node},
                  {"reason", std::string_view(result.error().code)},
                  {"message", std::string_view(result.error().message)}});
}

void SnapshotSender::stop() {
  stopping_ = true;
  workers_.wait_until_idle();
}

void SnapshotReceiver::receive(Link& link) {
  const auto refuse = [&](std::string_view code, std::string_view message) {
    link.refuse(OwnKind::snapshot_result,
                {.code = std::string(code), .message = std::string(message)});
  };
  if (common_.options.snapshot_dir.empty())
    return refuse("no_snapshots", "this node takes no snapshots");
  // The session moves only if there is a thread for it, so that the link can still answer.
  const auto place =
      std::make_shared<std::optional<Session>>();  // filled before the thread reads it
  const auto ready = std::make_shared<std::atomic<bool>>(false);
  const bool started = !stopping_ && workers_.start([this, place, ready] {
    ready->wait(false);
    run(Talk(std::move(**place), common_.limits().stall_time, stopping_));
  });
  if (!started) return refuse("busy", "as many snapshots as may be are arriving");
  place->emplace(link.release());
  *ready = true;
  ready->notify_one();
}

base::Result<Incoming> SnapshotReceiver::take_file(Talk& talk) {
  const auto first = talk.receive();
  if (!first) return std::unexpected(first.error());
  if (first->kind != number(OwnKind::snapshot_begin))
    return failure("malformed", "no snapshot begins here");
  auto begin = decode_snapshot_begin(first->payload);
  if (!begin) return std::unexpected(std::move(begin.error()));
  if (begin->header.size() > common_.limits().snapshot_header_bytes)
    return failure("malformed", "the header is longer than allowed");
  auto file = ArrivingFile::create(common_.options.snapshot_dir, begin->bytes);
  if (!file) return std::unexpected(std::move(file.error()));
  for (;;) {
    const auto frame = talk.receive();
    if (!frame) return std::unexpected(frame.error());
    if (frame->kind == number(OwnKind::snapshot_data)) {
      if (auto written = file->write(frame->payload); !written)
        return std::unexpected(std::move(written.error()));
      continue;
    }
    if (frame->kind != number(OwnKind::snapshot_end))
      return failure("malformed", "a frame that is no part of a snapshot");
    auto path = file->keep(frame->payload);
    if (!path) return std::unexpected(std::move(path.error()));
    return Incoming{.from = talk.other().hello.node_id,
                    .header = std::move(begin->header),
                    .path = std::move(*path),
                    .bytes = begin->bytes};
  }
}

base::Result<void> SnapshotReceiver::offer(Talk& talk, Incoming incoming) {
  std::unique_lock lock(mutex_);
  const std::uint64_t token = incoming.token = ++last_token_;
  offers_.emplace(token, Offer{.path = incoming.path});
  asio::post(common_.io, [this, incoming = std::move(incoming)]() mutable {
    common_.handler.on_snapshot(std::move(incoming));
  });
  const auto pause = std::chrono::milliseconds(common_.limits().ping_time.ms);
  const auto is_answered = [&] { return stopping_ || offers_.at(token).taken.has_value(); };
  for (bool connected = true; !answered_.wait_for(lock, pause, is_answered);) {
    lock.unlock();
    // The handler has the file whether the sender is still there or not, so its answer is waited
    // for.
    connected = connected && talk.send(OwnKind::ping, "").has_value();
    lock.lock();
  }
  const auto taken = offers_.at(token).taken;
  if (!taken) return failure("stopped", "the receiver is stopping");
  offers_.erase(token);
  if (!*taken) return failure("not_taken", "the receiver does not take it");
  return {};
}

void SnapshotReceiver::run(Talk talk) {
  talk.allow(longest_frame(common_.limits()));
  const std::uint64_t from = talk.other().hello.node_id;
  auto incoming = take_file(talk);
  const std::uint64_t bytes = incoming ? incoming->bytes : 0;
  const auto result = incoming ? offer(talk, std::move(*incoming))
                               : base::Result<void>(std::unexpected(std::move(incoming.error())));
  Verdict verdict;
  if (result) {
    common_.note(base::Level::info, "snapshot_received", {{"node", from}, {"bytes", bytes}});
  } else {
    verdict = {.code = result.error().code, .message = result.error().message};
    common_.note(base::Level::warning, "snapshot_not_received",
                 {{"node", from},
                  {"reason", std::string_view(verdict.code)},
                  {"message", std::string_view(verdict.message)}});
  }
  std::string payload;
  encode(verdict, payload);
  // The sender may be gone; then it tries again, and gets its answer from whoever knows what we
  // have.
  if (talk.send(OwnKind::snapshot_result, payload)) talk.end();
}

void SnapshotReceiver::finish(std::uint64_t token, bool taken) {
  const std::lock_guard lock(mutex_);
  const auto found = offers_.find(token);
  if (found == offers_.end() || found->second.taken) return;
  if (!taken) ::unlink(found->second.path.c_str());
  found->second.taken = taken;
  answered_.notify_all();
}

void SnapshotReceiver::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  answered_.notify_all();
  workers_.wait_until_idle();
}

}  // namespace jobbie::peer
