// What a connection owes its client, and the room that the server has for what all owe.
#include "http/connection.hpp"

namespace jobbie::http {

void Connection::reserve(Slot& slot, const AnswerBound& bound) {
  slot.reserved_bytes = bound.bytes;
  slot.in_total = bound.bytes > kSmallAnswerBytes && !bound.waits;
  reserved_bytes_ += bound.bytes;
  if (!slot.in_total) return;
  reserved_total_bytes_ += bound.bytes;
  count_owed();
}

/// The answer is there, or begins: it counts as it is from now on.
void Connection::release_from_total(Slot& slot) {
  if (!std::exchange(slot.in_total, false)) return;
  reserved_total_bytes_ -= slot.reserved_bytes;
  count_owed();
}

void Connection::release(Slot& slot) {
  release_from_total(slot);
  reserved_bytes_ -= std::exchange(slot.reserved_bytes, 0);
}

/// False if the request has to wait; the loop settles the connection again when there is room.
bool Connection::find_room(const AnswerBound& bound) {
  if (waits_for_room()) return false;
  if (loop_.shared().has_room(bound.bytes)) return true;
  room_deadline_ms_ = loop_.now_ms() + loop_.shared().limits.room_time.ms;
  loop_.wait_for_room(id_, bound.bytes);
  return false;
}

/// Most answers cannot be foreseen exactly, and waiting requests are not counted before they are
/// answered: this is what holds whatever comes.
bool Connection::is_too_much(std::size_t more) const {
  const Shared& shared = loop_.shared();
  const std::size_t owed = shared.owed_bytes.load(std::memory_order_relaxed);
  return more > kSmallAnswerBytes && owed > shared.limits.total_answer_bytes &&
         owed + more > 2 * shared.limits.total_answer_bytes;
}

void Connection::count_owed() {
  const std::size_t owed = pending_bytes() + reserved_total_bytes_;
  if (owed == counted_owed_) return;
  // Wraps around where it is less, as the sum does.
  loop_.shared().owed_bytes.fetch_add(owed - counted_owed_, std::memory_order_relaxed);
  counted_owed_ = owed;
}

void Connection::on_pressure() {
  if (write_deadline_ms_ == kNoDeadline || lingering_) return;
  const Limits& limits = loop_.shared().limits;
  const std::int64_t progress_ms = write_deadline_ms_ - limits.write_time.ms;
  if (progress_ms + limits.stalled_time.ms <= loop_.now_ms()) die();
}

Connection::Unfinished Connection::unfinished() const {
  if (lingering_) return Unfinished::head;
  const bool first = next_sequence_ == 0 && !closing_;
  if (phase_ == Phase::head || (first && phase_ == Phase::idle)) return Unfinished::head;
  return phase_ == Phase::body ? Unfinished::body : Unfinished::no;
}

}  // namespace jobbie::http
