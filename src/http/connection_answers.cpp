// The answering side of a connection: slots, their order, and streams.
#include "http/connection.hpp"

namespace jobbie::http {

Connection::Slot* Connection::find_slot(std::uint64_t sequence) {
  if (sequence < first_sequence_ || sequence >= next_sequence_) return nullptr;
  return &slots_[static_cast<std::size_t>(sequence - first_sequence_)];
}

bool Connection::is_waiting(std::uint64_t sequence) {
  const Slot* const slot = find_slot(sequence);
  return slot != nullptr && slot->state == Slot::State::waiting;
}

bool Connection::is_streaming(std::uint64_t sequence) {
  const Slot* const slot = find_slot(sequence);
  return slot != nullptr && slot->state == Slot::State::streaming;
}

void Connection::on_hang_up(std::uint64_t sequence, Task callback) {
  Slot* const slot = find_slot(sequence);
  if (slot == nullptr || slot->state == Slot::State::answered) return;
  // The client may have gone while an earlier request of its was dealt with in this same turn.
  if (ended_ || half_ended_)
    callback();
  else
    slot->hang_up = std::move(callback);
}

/// Appends the answer's head to where the slot's bytes go now, and gives that place.
std::string& Connection::append_slot_head(std::uint64_t sequence, Slot& slot,
                                          const Response& response, Framing framing,
                                          std::size_t body_bytes) {
  const bool last = sequence + 1 == next_sequence_;
  if (last && loop_.draining() && held_.empty()) closing_ = true;
  if (framing == Framing::closed) closing_ = true;
  slot.status = response.status;
  std::string& out = sequence == first_sequence_ ? output_ : slot.bytes;
  append_head(out,
              {.status = response.status,
               .content_type = response.content_type,
               .headers = response.headers,
               .given_id = slot.given_id,
               .serial = slot.serial,
               .framing = framing,
               .body_bytes = body_bytes,
               .says_close = closing_ && last,
               .says_keep_alive = slot.wants_keep_alive},
              loop_.date(), loop_.ids());
  return out;
}

void Connection::count_slot_bytes(const Slot& slot, std::size_t before) {
  slot_bytes_ += slot.bytes.size() - before;
}

void Connection::answer(std::uint64_t sequence, const Response& response, std::string_view body) {
  Slot* const slot = find_slot(sequence);
  if (slot == nullptr || slot->state != Slot::State::waiting) return;
  release(*slot);
  if (is_too_much(body.size())) return die();
  const std::size_t before = slot->bytes.size();
  std::string& out = append_slot_head(sequence, *slot, response, Framing::sized, body.size());
  if (!slot->head_only && !is_bodiless(response.status)) {
    out.append(body);
    slot->body_bytes = body.size();
  }
  count_slot_bytes(*slot, before);
  if (body.size() > kSmallAnswerBytes) count_owed();
  finish_slot(sequence);
}

/// The slot's answer is complete: everything whose turn has come with it goes into the output.
void Connection::finish_slot(std::uint64_t sequence) {
  Slot& finished = *find_slot(sequence);
  finished.state = Slot::State::answered;
  loop_.count_answer(finished.status);
  finished.hang_up = nullptr;
  release(finished);
  log_access(finished);
  loop_.touch(*this);
  while (!slots_.empty() && slots_.front().state == Slot::State::answered) {
    slots_.pop_front();
    ++first_sequence_;
    if (slots_.empty()) break;
    std::string& ready = slots_.front().bytes;
    output_.append(ready);
    slot_bytes_ -= ready.size();
    ready = {};
  }
}

bool Connection::begin_stream(std::uint64_t sequence, const Response& head,
                              std::optional<std::uint64_t> bytes) {
  Slot* const slot = find_slot(sequence);
  if (slot == nullptr || slot->state != Slot::State::waiting) return false;
  // From here on it counts as it is written. What comes behind it on this connection waits.
  release_from_total(*slot);
  const std::size_t before = slot->bytes.size();
  slot->promised_bytes = bytes;
  const Framing framing = bytes               ? Framing::sized
                          : slot->old_version ? Framing::closed
                                              : Framing::chunked;
  append_slot_head(sequence, *slot, head, framing, bytes.value_or(0));
  count_slot_bytes(*slot, before);
  slot->state = Slot::State::streaming;
  if (slot->head_only) {
    finish_slot(sequence);
    return false;
  }
  loop_.touch(*this);
  return head.body.empty() || write_stream(sequence, head.body);
}

bool Connection::write_stream(std::uint64_t sequence, std::string_view part) {
  Slot* const slot = find_slot(sequence);
  if (slot == nullptr || slot->state != Slot::State::streaming) return false;
  const std::size_t before = slot->bytes.size();
  std::string& out = sequence == first_sequence_ ? output_ : slot->bytes;
  if (slot->old_version || slot->promised_bytes)
    out.append(part);
  else
    append_chunk(out, part);
  slot->body_bytes += part.size();
  count_slot_bytes(*slot, before);
  const Shared& shared = loop_.shared();
  if (pending_bytes() > shared.stream_share) count_owed();
  const bool full = shared.owes_too_much() && pending_bytes() > shared.stream_share;
  if (full || pending_bytes() > shared.limits.answer_bytes) {
    die();
    return false;
  }
  loop_.touch(*this);
  return true;
}

void Connection::end_stream(std::uint64_t sequence) {
  Slot* const slot = find_slot(sequence);
  if (slot == nullptr || slot->state != Slot::State::streaming) return;
  const std::size_t before = slot->bytes.size();
  // A client that was promised more must not take this for all of it.
  if (slot->promised_bytes && slot->body_bytes != *slot->promised_bytes) return die();
  if (!slot->old_version && !slot->promised_bytes)
    (sequence == first_sequence_ ? output_ : slot->bytes).append("0\r\n\r\n");
  count_slot_bytes(*slot, before);
  finish_slot(sequence);
}

void Connection::on_room(std::uint64_t sequence, Task callback) {
  Slot* const slot = find_slot(sequence);
  if (slot == nullptr || slot->state != Slot::State::streaming) return;
  slot->room = std::move(callback);
  loop_.touch(*this);
}

/// In a turn of its own, so that whoever has much to write does not keep the loop. Answers that
/// wait behind the stream do not count: they wait for it. While the server owes too much, only who
/// has taken everything goes on.
void Connection::tell_room() {
  if (slots_.empty() || !slots_.front().room) return;
  if (output_.size() - sent_ > (loop_.shared().owes_too_much() ? 0 : kRoomBytes)) return;
  loop_.post(std::exchange(slots_.front().room, nullptr));
}

}  // namespace jobbie::http
