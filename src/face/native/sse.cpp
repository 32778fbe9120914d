// The wire format of streams.
#include "face/native/sse.hpp"

#include <charconv>
#include <iterator>

#include <fmt/format.h>

#include "base/json_writer.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;
using command::Event;
using command::EventType;

/// Of errors and progress in the stream; whoever wants all of it asks for the job.
constexpr std::size_t kShownBytes = 2'048;

/// Cut between two characters.
std::string_view cut(std::string_view text) {
  if (text.size() <= kShownBytes) return text;
  std::size_t end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

/// The member that the event's detail is; null: it has none, or is told otherwise.
const char* name_of_detail(EventType type) {
  switch (type) {
    case EventType::started:
    case EventType::lease_expired:
    case EventType::worker_joined:
    case EventType::worker_left:
      return "worker_id";
    case EventType::failed:
      return "error";
    case EventType::dead:
    case EventType::cancelled:
      return "reason";
    case EventType::group_paused:
    case EventType::group_resumed:
      return "group";
    case EventType::batch_completed:
      return "batch_id";
    case EventType::schedule_fired:
    case EventType::schedule_changed:
      return "schedule";
    default:
      return nullptr;
  }
}

void write_detail(Writer& json, const Event& event) {
  if (event.type == EventType::progress) {
    json.member("progress");
    if (event.detail.size() <= kShownBytes)
      json.raw(event.detail.view());
    else
      json.null();
    return;
  }
  const char* name = name_of_detail(event.type);
  if (name == nullptr || event.detail.empty()) return;
  json.member(name).string(cut(event.detail.view()));
}

void write_elapsed(Writer& json, const Event& event) {
  if (event.type == EventType::started)
    json.member("wait_ms").number(event.elapsed.ms);
  else if (event.type == EventType::completed || event.type == EventType::failed ||
           event.type == EventType::lease_expired)
    json.member("run_ms").number(event.elapsed.ms);
}

std::string data_of(const Event& event) {
  std::string data;
  Writer json(data);
  json.begin_object();
  json.member("type").plain(command::to_string(event.type));
  json.member("job_id");
  if (event.job.is_nil())
    json.null();
  else
    json.id(event.job);
  json.member("queue");
  if (event.queue.empty())
    json.null();
  else
    json.string(event.queue.view());
  json.member("at").instant(event.at);
  if (!event.job.is_nil()) json.member("attempt").number(event.attempt);
  write_elapsed(json, event);
  write_detail(json, event);
  json.end_object();
  return data;
}

void append_line(std::string_view text, std::string& out) {
  for (const char c : text) out.push_back(c == '\n' || c == '\r' ? ' ' : c);
}

}  // namespace

http::Response stream_head() {
  // Names the reconnection time; a comment makes buffers on the way let the head go.
  return {.status = 200,
          .content_type = "text/event-stream",
          .body = "retry: 2000\n: stream\n\n",
          .headers = {{"cache-control", "no-store"}, {"x-accel-buffering", "no"}}};
}

void append_position(call::EventPosition at, std::uint32_t events, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}", at.index);
  if (events > 1 && at.ordinal != call::EventPosition::kWholeEntry)
    fmt::format_to(std::back_inserter(out), "-{}", at.ordinal);
}

std::optional<call::EventPosition> parse_position(std::string_view text) {
  call::EventPosition at;
  const char* end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, at.index);
  if (index.ec != std::errc{}) return std::nullopt;
  if (index.ptr == end) return at;
  if (*index.ptr != '-') return std::nullopt;
  const auto ordinal = std::from_chars(index.ptr + 1, end, at.ordinal);
  if (ordinal.ec != std::errc{} || ordinal.ptr != end) return std::nullopt;
  return at;
}

void append_message(const Message& message, std::string& out) {
  if (!message.id.empty()) {
    out.append("id: ");
    append_line(message.id, out);
    out.push_back('\n');
  }
  out.append("event: ");
  append_line(message.type, out);
  out.append("\ndata: ");
  append_line(message.data, out);
  out.append("\n\n");
}

void append_event(const Event& event, call::EventPosition at, std::uint32_t events,
                  std::string& out) {
  std::string id;
  append_position(at, events, id);
  append_message({.id = id, .type = command::to_string(event.type), .data = data_of(event)}, out);
}

}  // namespace jobbie::face::native
