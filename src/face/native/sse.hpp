// Events as the lines of a text/event-stream. Private to the folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "call/event_feed.hpp"
#include "command/event.hpp"
#include "http/message.hpp"

namespace jobbie::face::native {

/// The head of every stream; its body is the first part.
[[nodiscard]] http::Response stream_head();

/// `1234-7`: the seventh event of entry 1234. Where an entry has one event only, `1234`.
void append_position(call::EventPosition at, std::uint32_t events, std::string& out);
[[nodiscard]] std::optional<call::EventPosition> parse_position(std::string_view text);

/// One event of a stream. `data` is JSON; line ends in it become spaces, since they would end it.
struct Message {
  std::string_view id;
  std::string_view type;
  std::string_view data;
};
void append_message(const Message& message, std::string& out);

/// The event at a place in the stream, `events` being how many its entry has.
void append_event(const command::Event& event, call::EventPosition at, std::uint32_t events,
                  std::string& out);

}  // namespace jobbie::face::native
