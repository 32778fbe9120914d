// poll() in short waits, so that a stop is noticed.
#include "peer/talk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <utility>

#include "peer/failure.hpp"

namespace jobbie::peer {
namespace {

constexpr std::int64_t kPatience_ms = 100;
constexpr std::int64_t kLinger_ms = 2000;

}  // namespace

base::Result<void> Talk::wait(Need need) const { return wait(need, now_ms() + patience_.ms); }

base::Result<void> Talk::wait(Need need, std::int64_t until_ms) const {
  for (;;) {
    if (stopping_) return failure("stopped", "this node is stopping");
    const auto left = until_ms - now_ms();
    if (left <= 0) return failure("stalled", "the other side does not go on");
    pollfd wanted{.fd = session_.stream.descriptor(),
                  .events = static_cast<short>(need == Need::to_write ? POLLOUT : POLLIN),
                  .revents = 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::min(left, kPatience_ms)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return failure("connection_lost", std::strerror(errno));
  }
}

base::Result<void> Talk::flush() {
  std::string_view rest = session_.out;
  while (!rest.empty()) {
    const auto progress = session_.stream.write(rest);
    if (!progress) return std::unexpected(progress.error());
    rest.remove_prefix(progress->bytes);
    if (progress->need != Need::nothing)
      if (auto ready = wait(progress->need); !ready) return ready;
  }
  session_.out.clear();
  return {};
}

base::Result<void> Talk::send(OwnKind kind, std::string_view payload) {
  session_.sealing.seal(number(kind), payload, session_.out);
  return flush();
}

base::Result<Need> Talk::fill() {
  const auto got = session_.stream.read(session_.reader.space());
  if (!got) return std::unexpected(got.error());
  session_.reader.filled(got->bytes);
  return got->need;
}

base::Result<Frame> Talk::receive() {
  // A session that was taken over may still have its hello to say.
  if (auto sent = flush(); !sent) return std::unexpected(sent.error());
  for (;;) {
    auto frame = session_.reader.next(session_.opening);
    if (!frame) return std::unexpected(std::move(frame.error()));
    if (*frame) return std::move(**frame);
    const auto need = fill();
    if (!need) return std::unexpected(need.error());
    if (*need != Need::nothing)
      if (auto ready = wait(*need); !ready) return std::unexpected(ready.error());
  }
}

base::Result<std::optional<Frame>> Talk::look() {
  for (;;) {
    auto frame = session_.reader.next(session_.opening);
    if (!frame || *frame) return frame;
    const auto need = fill();
    if (!need) return std::unexpected(need.error());
    if (*need != Need::nothing) return std::nullopt;
  }
}

void Talk::end() {
  session_.stream.end_writing();
  const auto until = now_ms() + kLinger_ms;
  std::array<char, kMaxEarlyFrame> unread;
  while (now_ms() < until) {
    const auto got = session_.stream.read(unread);
    if (!got) return;
    if (got->need != Need::nothing && !wait(got->need, until)) return;
  }
}

base::Result<void> Talk::shake_hands(const Dialling& how) {
  Stream& stream = session_.stream;
  if (auto ready = wait(Need::to_write); !ready) return ready;
  if (auto fine = stream.connected(); !fine) return fine;
  if (how.tls != nullptr) {
    if (auto begun = stream.secure(*how.tls, Role::dialler); !begun) return begun;
    for (;;) {
      const auto progress = stream.shake_hands();
      if (!progress) return std::unexpected(progress.error());
      if (progress->need == Need::nothing) break;
      if (auto ready = wait(progress->need); !ready) return ready;
    }
  }
  Handshake handshake({.role = Role::dialler,
                       .purpose = Purpose::snapshot,
                       .secret = how.secret,
                       .self = how.self,
                       .sealed = how.tls == nullptr,
                       .binding = stream.binding()});
  for (;;) {
    const auto done = handshake.advance(session_.reader, session_.out);
    if (!done) return std::unexpected(done.error());
    if (auto sent = flush(); !sent) return sent;
    if (*done) break;
    const auto need = fill();
    if (!need) return std::unexpected(need.error());
    if (*need != Need::nothing)
      if (auto ready = wait(*need); !ready) return ready;
  }
  session_.other = handshake.other();
  session_.opening = handshake.take_opening();
  session_.sealing = handshake.take_sealing();
  session_.reader.allow(how.longest_frame);
  return {};
}

base::Result<Talk> Talk::dial(const Dialling& how, base::Duration patience,
                              const std::atomic<bool>& stopping) {
  auto stream = Stream::connect(how.address, how.length);
  if (!stream) return std::unexpected(std::move(stream.error()));
  Talk talk({.stream = std::move(*stream)}, patience, stopping);
  if (auto shaken = talk.shake_hands(how); !shaken)
    return std::unexpected(std::move(shaken.error()));
  return talk;
}

}  // namespace jobbie::peer
