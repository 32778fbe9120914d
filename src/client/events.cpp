// The event stream format of the HTML standard, as far as a client needs it.
#include "client/events.hpp"

namespace jobbie::client {

bool EventParser::feed(std::string_view bytes, const std::function<bool(const Event&)>& on_event) {
  buffer_.append(bytes);
  std::size_t begin = 0;
  while (true) {
    const auto end = buffer_.find('\n', begin);
    if (end == std::string::npos) break;
    std::string_view line = std::string_view(buffer_).substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) {
      take_line(line);
      continue;
    }
    if (has_data_) {
      if (event_.type.empty()) event_.type = "message";
      if (!on_event(event_)) return false;
    }
    event_.type.clear();
    event_.data.clear();
    has_data_ = false;
  }
  buffer_.erase(0, begin);
  return true;
}

void EventParser::take_line(std::string_view line) {
  const auto colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value;
  if (colon != std::string_view::npos) value = line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "id") {
    event_.id = value;
  } else if (name == "event") {
    event_.type = value;
  } else if (name == "data") {
    if (has_data_) event_.data.push_back('\n');
    event_.data.append(value);
    has_data_ = true;
  }
}

}  // namespace jobbie::client
