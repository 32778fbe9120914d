// A checkpoint in chunks whose sizes come from the first byte: the chunks make no difference, and
// what the reader accepts, the writer writes so that it reads the same.
//
// A random change is nearly always caught by a checksum, so a mode repairs them: then the items and
// the framing themselves are put to the test.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/crc32c.hpp"
#include "command/checkpoint_codec.hpp"

namespace {

using namespace jobbie;

constexpr std::uint8_t kRepair = 0x80;

struct Read {
  base::Result<void> result;
  std::vector<command::Item> items;
};

/// `chunks` zero: everything at once; else the seed of chunk sizes.
Read read(std::string_view bytes, unsigned chunks) {
  Read read;
  command::CheckpointReader reader([&](command::Item item) {
    read.items.push_back(std::move(item));
    return base::Result<void>{};
  });
  std::minstd_rand random(chunks);
  while (!bytes.empty()) {
    const auto size =
        chunks == 0 ? bytes.size() : std::min<std::size_t>(random() % 40, bytes.size());
    read.result = reader.feed(bytes.substr(0, size));
    bytes.remove_prefix(size);
    if (!read.result) return read;
  }
  read.result = reader.finish();
  return read;
}

std::string fixed32(std::uint32_t v) {
  std::string out;
  base::ByteWriter(out).u32(v);
  return out;
}

/// Sound framing around the bodies of `bytes`: each is a length byte and as many bytes.
std::string framed(std::string_view bytes) {
  std::string out = std::string(command::kCheckpointMagic) + fixed32(command::kCheckpointVersion);
  auto crc = base::crc32c(out);
  std::uint64_t items = 0;
  while (bytes.size() > 1) {
    const auto size = std::min<std::size_t>(static_cast<unsigned char>(bytes[0]), bytes.size() - 1);
    const auto body = bytes.substr(1, size);
    bytes.remove_prefix(1 + size);
    if (body.empty()) continue;
    const auto length = fixed32(static_cast<std::uint32_t>(size));
    const auto head = length + fixed32(base::crc32c(body, base::crc32c(length)));
    crc = base::crc32c(head, crc);
    out.append(head).append(body);
    ++items;
  }
  std::string trailer = fixed32(0);
  base::ByteWriter(trailer).u64(items);
  return out + trailer + fixed32(base::crc32c(trailer, crc));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto mode = data[0];
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string bytes = (mode & kRepair) != 0 ? framed(input) : std::string(input);

  const auto whole = read(bytes, 0);
  const auto pieces = read(bytes, (mode % kRepair) + 1U);
  JOBBIE_CHECK(whole.result.has_value() == pieces.result.has_value());
  JOBBIE_CHECK(whole.items == pieces.items);
  if (!whole.result) return 0;

  std::string written;
  command::CheckpointWriter writer([&](std::string_view piece) { written += piece; });
  for (const auto& item : whole.items) writer.add(item);
  writer.finish();
  const auto again = read(written, 0);
  JOBBIE_CHECK(again.result.has_value() && again.items == whole.items);
  return 0;
}
