// Server-sent events: bytes in, events out.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace jobbie::client {

struct Event {
  std::string id;    ///< of the latest event that had one: what to resume behind
  std::string type;  ///< "message" where the server named none
  std::string data;
};

/// Takes the stream in pieces of any size. Comments are passed over.
class EventParser {
 public:
  /// Calls `on_event` for each event that is complete; stops and gives false once that does.
  bool feed(std::string_view bytes, const std::function<bool(const Event&)>& on_event);

 private:
  void take_line(std::string_view line);

  std::string buffer_;
  Event event_;
  bool has_data_ = false;
};

}  // namespace jobbie::client
