// The reading side of a connection: from bytes to the handler.
#include "http/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <vector>

#include <sys/socket.h>

#include "base/check.hpp"
#include "http/characters.hpp"
#include "http/problem.hpp"

namespace jobbie::http {
namespace {

/// Room for a read when it is not known how much is to come.
constexpr std::size_t kPlainReadBytes = std::size_t{16} * 1024;

std::int64_t steady_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool is_request_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxRequestIdBytes &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7F; });
}

}  // namespace

Connection::Connection(EventLoop& loop, ConnectionId id, Socket socket, Peer peer,
                       std::unique_ptr<TlsSession> tls)
    : loop_(loop),
      id_(id),
      socket_(std::move(socket)),
      tls_(std::move(tls)),
      peer_(std::move(peer)),
      parser_(loop.shared().limits),
      phase_began_ms_(loop.now_ms()) {}

Connection::~Connection() {
  release_held();
  loop_.shared().owed_bytes.fetch_sub(counted_owed_, std::memory_order_relaxed);
}

/// A socket that has died is reported whether anybody waits for that or not. Who reads learns more.
void Connection::on_ready(std::uint32_t events) {
  again_due_ = false;
  const bool over = (events & (EPOLLERR | EPOLLHUP)) != 0;
  if ((watched_ & EPOLLIN) != 0 && (over || (events & EPOLLIN) != 0))
    on_readable();
  else if (over)
    die();
  else if ((watched_ & events & EPOLLRDHUP) != 0)
    on_half_end();
  if (!dead_ && (events & EPOLLOUT) != 0) on_writable();
}

void Connection::on_readable() {
  loop_.touch(*this);
  if (shaking_hands() && !shake_hands()) return;
  if (closing_)
    discard();
  else if (held_.empty())
    read_fresh();
  else
    read_held();
}

void Connection::on_writable() {
  write_blocked_ = false;
  loop_.touch(*this);
  if (tls_ && tls_->wants_write()) on_readable();
}

long Connection::receive(std::span<char> into) {
  return tls_ ? tls_->read(into) : ::recv(socket_.get(), into.data(), into.size(), 0);
}

/// True if something was read; else the end or the failure has been dealt with.
bool Connection::take_read(long count) {
  if (count > 0) return true;
  if (count == 0)
    on_end();
  else if (errno != EAGAIN && errno != EINTR)
    die();
  return false;
}

/// The usual case: nothing is left over from before, so the loop's own buffer will do, and a
/// request that comes whole is never copied.
void Connection::read_fresh() {
  const std::span<char> space = loop_.read_buffer();
  const long count = receive(space);
  if (!take_read(count)) return;
  hold(process(space.first(static_cast<std::size_t>(count))));
}

void Connection::read_held() {
  if (!make_room()) return;
  const std::span<char> space = held_.room();
  const long count = receive(space);
  if (!take_read(count)) return;
  held_.grow(static_cast<std::size_t>(count));
  go_on_with_held();
}

void Connection::go_on_with_held() { hold(process(held_.data())); }

/// A closing connection still listens for the client's end, and reads what the client was sending
/// when it was refused: closing with unread bytes would reset the connection and lose the answer.
void Connection::discard() {
  const std::span<char> space = loop_.read_buffer();
  const long count = receive(space);
  if (!take_read(count)) return;
  discarded_bytes_ += static_cast<std::size_t>(count);
  if (discarded_bytes_ > kMaxDiscardBytes && lingering_) die();
}

void Connection::on_end() {
  ended_ = true;
  closing_ = true;
  if (lingering_) {
    die();
    return;
  }
  tell_hang_up();
}

/// The client has ended its side, and requests before that are not read yet: they wait for answers
/// that are under way. Those who wait in vain are told now; the rest follows when it is read.
void Connection::on_half_end() {
  half_ended_ = true;
  loop_.touch(*this);
  tell_hang_up();
}

void Connection::tell_hang_up() {
  // A callback may answer, and so change the slots.
  std::vector<Task> callbacks;
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].hang_up) callbacks.push_back(std::exchange(slots_[i].hang_up, nullptr));
  for (Task& callback : callbacks) callback();
}

void Connection::die() {
  if (dead_) return;
  dead_ = true;
  loop_.bury(id_);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Task callback = std::exchange(slots_[i].hang_up, nullptr);
    if (callback) callback();
    slots_[i].room = nullptr;
  }
}

/// Room for what is known to come, but only step by step: a client that announces much must also
/// send it. False if the loop holds too much already; the request is then refused.
bool Connection::make_room() {
  const std::size_t size = held_.size();
  const std::size_t announced = parser_.announced_bytes();
  const std::size_t wanted = announced > size ? announced - size : kPlainReadBytes;
  const std::size_t step = std::min(wanted, std::max(kGrowBytes, size));
  if (held_.capacity() - size < std::min(step, kPlainReadBytes)) {
    const std::size_t limit = loop_.shared().limits.held_bytes;
    if (loop_.held_bytes - counted_bytes_ + size + step > limit) {
      refuse({.status = 503, .code = "overloaded", .detail = "too many requests are being read"});
      return false;
    }
    held_.reserve(size + step);
    hold(held_.data());
  }
  return true;
}

void Connection::hold(std::span<const char> rest) {
  if (rest.empty()) {
    release_held();
    return;
  }
  held_.keep(rest);
  loop_.held_bytes += held_.capacity() - counted_bytes_;
  counted_bytes_ = held_.capacity();
}

void Connection::release_held() {
  held_.release();
  loop_.held_bytes -= counted_bytes_;
  counted_bytes_ = 0;
  paused_ = false;
}

/// Also while the next request has to wait for an answer that is under way: the client's end is
/// seen by reading.
bool Connection::may_read() const {
  const Limits& limits = loop_.shared().limits;
  return slots_.size() < limits.pipelined && pending_bytes() <= limits.answer_bytes;
}

bool Connection::may_take() const {
  return may_read() && pending_bytes() + reserved_bytes_ <= loop_.shared().limits.answer_bytes;
}

/// Takes as many requests out of `data` as there are and as there is room for. Gives what is left.
std::span<char> Connection::process(std::span<char> data) {
  bool room = true;
  while (!data.empty() && !closing_ && !dead_ && room && may_take()) {
    switch (parser_.feed(data)) {
      case Parser::Step::more:
        paused_ = false;
        return data.first(parser_.compact(data));
      case Parser::Step::head:
        on_head(data);
        break;
      case Parser::Step::bad:
        refuse(parser_.fault());
        break;
      case Parser::Step::complete:
        room = take_request(data);
        if (!room) break;
        data = data.subspan(parser_.consumed());
        parser_.reset();
        answer_bound_.reset();
        break;
    }
  }
  if (closing_ || dead_) return {};
  paused_ = !data.empty();
  return data;
}

void Connection::on_head(std::span<const char> data) {
  Request request;
  parser_.view(data, loop_.header_views(), request);
  const Shared& shared = loop_.shared();
  const RequestBounds bounds = shared.handler.bounds(request.method, request.path);
  parser_.set_body_limit(bounds.body_bytes.value_or(shared.limits.body_bytes));
  answer_bound_ = bounds.answer;
  // Told when it is this request's turn; a body that is here already, or too large, makes it moot.
  continue_due_ = parser_.expects_continue();
}

/// False if the server has no room for its answer now.
bool Connection::take_request(std::span<const char> data) {
  Request request;
  parser_.view(data, loop_.header_views(), request);
  // A request without a body had no head of its own.
  if (!answer_bound_)
    answer_bound_ = loop_.shared().handler.bounds(request.method, request.path).answer;
  const AnswerBound bound = *answer_bound_;
  if (bound.bytes > kSmallAnswerBytes && !bound.waits && !find_room(bound)) return false;
  request.remote = peer_.remote;
  request.client = peer_.address;
  dispatch(request, bound);
  return true;
}

void Connection::dispatch(Request& request, const AnswerBound& bound) {
  continue_due_ = false;

  Slot slot;
  slot.head_only = request.method == Method::head;
  slot.old_version = parser_.old_version();
  slot.wants_keep_alive = parser_.old_version() && request.keep_alive;
  const std::string_view given = request.header("x-request-id");
  if (is_request_id(given)) {
    slot.given_id = given;
    request.request_id = given;
  } else {
    slot.serial = loop_.ids().next();
    std::string& text = loop_.id_text();
    text.clear();
    loop_.ids().append(text, slot.serial);
    request.request_id = text;
  }
  if (loop_.shared().access_log)
    slot.access = std::make_unique<Access>(Access{.method = std::string(request.method_text),
                                                  .target = std::string(request.target),
                                                  .began_us = steady_us()});
  reserve(slots_.push_back(std::move(slot)), bound);
  const std::uint64_t sequence = next_sequence_++;
  if (!request.keep_alive || loop_.draining()) closing_ = true;

  Responder responder(Ticket{.loop = &loop_, .connection = id_, .sequence = sequence});
  try {
    loop_.shared().handler.handle(request, std::move(responder));
  } catch (...) {  // NOLINT(bugprone-empty-catch): the responder has answered 500 on its way out
  }
}

void Connection::refuse(const Fault& fault) {
  closing_ = true;
  continue_due_ = false;
  room_deadline_ms_ = kNoDeadline;
  Slot slot;
  slot.serial = loop_.ids().next();
  if (loop_.shared().access_log)
    slot.access = std::make_unique<Access>(Access{.began_us = steady_us()});
  slots_.push_back(std::move(slot));
  Response response =
      problem_response({.status = fault.status, .code = fault.code, .detail = fault.detail});
  if (fault.status == 503) response.headers.emplace_back("retry-after", "1");
  const std::string body = std::move(response.body);
  answer(next_sequence_++, response, body);
}

void Connection::log_access(Slot& slot) {
  if (!slot.access) return;
  std::string ours;
  if (slot.given_id.empty()) loop_.ids().append(ours, slot.serial);
  loop_.shared().access_log({.method = slot.access->method,
                             .target = slot.access->target,
                             .remote = peer_.remote,
                             .request_id = slot.given_id.empty() ? ours : slot.given_id,
                             .status = slot.status,
                             .body_bytes = slot.body_bytes,
                             .duration_us = steady_us() - slot.access->began_us});
}

}  // namespace jobbie::http
