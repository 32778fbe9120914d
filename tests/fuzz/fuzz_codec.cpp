// Bytes as an entry, a reply or an item, chosen by the first one: the decoder ends in an error or
// in a value that encodes and decodes to itself, and validate() has an answer to every command.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "command/codec.hpp"
#include "command/validate.hpp"

namespace {

using namespace jobbie;

template <typename T>
void check_stable(const T& value, base::Result<T> (*decode)(std::string_view)) {
  std::string bytes;
  command::encode(value, bytes);
  const auto again = decode(bytes);
  JOBBIE_CHECK(again.has_value());
  JOBBIE_CHECK(*again == value);
  std::string once_more;
  command::encode(*again, once_more);
  JOBBIE_CHECK(once_more == bytes);
}

void check_entry(std::string_view bytes) {
  const auto entry = command::decode_entry(bytes);
  if (!entry) return;
  check_stable(*entry, command::decode_entry);
  for (const auto& command : entry->commands) {
    const auto refused = command::validate(command);
    JOBBIE_CHECK(!refused || (!refused->field.empty() && !refused->message.empty()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'r':
      if (const auto reply = command::decode_reply(bytes))
        check_stable(*reply, command::decode_reply);
      break;
    case 'i':
      if (const auto item = command::decode_item(bytes)) check_stable(*item, command::decode_item);
      break;
    default:
      check_entry(bytes);
  }
  return 0;
}
