// What the driver has to know of the core's messages: some fields of their protobuf form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.hpp"

namespace jobbie::consensus {

/// Takes a message in protobuf form apart, field by field. What is read may be anything.
class Fields {
 public:
  explicit Fields(std::string_view in) : reader_(in) {}

  /// Goes to the next field; false at the end, or if there is none that makes sense (then !ok()).
  bool next();
  [[nodiscard]] std::uint64_t field() const { return field_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] bool ok() const { return reader_.ok(); }

 private:
  base::ByteReader reader_;
  std::uint64_t field_ = 0;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};

// Types of messages that the driver treats in a way of their own.
inline constexpr std::uint32_t kMsgAppend = 3;
inline constexpr std::uint32_t kMsgAppendResponse = 4;
inline constexpr std::uint32_t kMsgRequestVote = 5;
inline constexpr std::uint32_t kMsgSnapshot = 7;
inline constexpr std::uint32_t kMsgHeartbeat = 8;

struct MessageHead {
  std::uint32_t type = 0;
  std::uint64_t to = 0;
  std::uint64_t from = 0;
  std::uint64_t term = 0;
  std::uint64_t commit = 0;
  std::size_t entry_count = 0;
  std::size_t entry_bytes = 0;
  std::string_view snapshot;
};

/// Nothing if it is no message.
[[nodiscard]] std::optional<MessageHead> read_head(std::string_view message);

}  // namespace jobbie::consensus
