// Walking protobuf fields.
#include "consensus/message.hpp"

namespace jobbie::consensus {
namespace {

enum Wire : std::uint64_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

}  // namespace

bool Fields::next() {
  if (!reader_.ok() || reader_.at_end()) return false;
  const auto key = reader_.var();
  field_ = key >> 3;
  number_ = 0;
  bytes_ = {};
  switch (key & 7) {
    case Wire::varint:
      number_ = reader_.var();
      break;
    case Wire::fixed64:
      number_ = reader_.u64();
      break;
    case Wire::delimited:
      bytes_ = reader_.bytes();
      break;
    case Wire::fixed32:
      number_ = reader_.u32();
      break;
    default:
      reader_.fail();
  }
  if (field_ == 0) reader_.fail();
  return reader_.ok();
}

std::optional<MessageHead> read_head(std::string_view message) {
  MessageHead head;
  Fields fields(message);
  while (fields.next()) {
    switch (fields.field()) {
      case 1:
        // The core looks at the low half of it alone.
        head.type = static_cast<std::uint32_t>(fields.number());
        break;
      case 2:
        head.to = fields.number();
        break;
      case 3:
        head.from = fields.number();
        break;
      case 4:
        head.term = fields.number();
        break;
      case 7:
        ++head.entry_count;
        head.entry_bytes += fields.bytes().size();
        break;
      case 8:
        head.commit = fields.number();
        break;
      case 9:
        head.snapshot = fields.bytes();
        break;
      default:
        break;
    }
  }
  if (!fields.ok()) return std::nullopt;
  return head;
}

}  // namespace jobbie::consensus
