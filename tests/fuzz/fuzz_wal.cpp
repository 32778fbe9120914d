// Bytes as a segment of the log: recovery refuses them or finds a log that it finds again, the
// same, after going on writing.
//
// The first byte is a mode. A random change is nearly always caught by a checksum, so one mode
// makes sound records out of the bytes: then what the records say is put to the test.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "log/record.hpp"
#include "log/sim_disk.hpp"
#include "log/wal.hpp"

namespace {

using namespace jobbie;

constexpr std::size_t kSegment = 8192;
constexpr std::uint8_t kSoundRecords = 0x80;

class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const auto b = static_cast<std::uint8_t>(bytes_[0]);
    bytes_.remove_prefix(1);
    return b;
  }
  std::string_view text(std::size_t n) {
    const auto out = bytes_.substr(0, n);
    bytes_.remove_prefix(out.size());
    return out;
  }

 private:
  std::string_view bytes_;
};

log::SegmentHeader header_of(std::uint64_t sequence) {
  return {.sequence = sequence, .salt = 7, .segment_bytes = kSegment, .node_id = 1};
}

/// Records whose fields come from the input, under right checksums.
std::string sound_records(Input& in, const log::SegmentHeader& header) {
  std::string out = log::encode_segment_header(header);
  while (!in.empty()) {
    log::RecordContent content;
    std::string conf_state;
    content.number = in.byte();
    content.hard_state = {in.byte(), in.byte(), in.byte()};
    if ((in.byte() & 1) != 0) {
      const consensus::Position base{in.byte(), in.byte()};
      log::Configured configured{.configuration = {}, .index = in.byte()};
      for (auto left = in.byte() % 4; left > 0; --left)
        configured.configuration.members.push_back(
            {.id = in.byte(), .name = std::string(in.text(in.byte() % 8)), .voter = true});
      conf_state = encode(configured);
      content.state = log::StateView{base, conf_state, (in.byte() & 1) != 0};
    }
    std::vector<consensus::EntryView> entries(in.byte() % 4);
    for (auto& entry : entries) {
      entry.index = in.byte();
      entry.term = in.byte();
      entry.data = in.text(in.byte());
    }
    content.entries = entries;
    std::string record;
    log::encode_record({header, out.size()}, content, record);
    if (out.size() + record.size() > kSegment) break;
    out += record;
  }
  return out;
}

void put_file(log::SimDisk& disk, std::uint64_t sequence, std::string bytes) {
  bytes.resize(kSegment);
  const auto path = log::segment_path("w", {sequence, log::SegmentKind::active});
  const auto file = disk.open(path, log::OpenMode::create);
  JOBBIE_CHECK(file.has_value() && (*file)->write_at(0, bytes).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto mode = data[0];
  Input in(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  log::SimDisk disk(1);
  const std::uint64_t first = 1 + mode % 2;
  if ((mode & kSoundRecords) != 0) {
    put_file(disk, first, sound_records(in, header_of(first)));
  } else {
    std::string bytes = log::encode_segment_header(header_of(first));
    if ((mode & 0x40) != 0) bytes.clear();
    bytes += in.text(kSegment);
    put_file(disk, first, bytes);
  }
  const log::WalOptions options{.directory = "w",
                                .node_id = 1,
                                .segment_bytes = kSegment,
                                .preparing = log::Preparer::Mode::at_once};
  auto wal = log::Wal::open(disk, options);
  if (!wal) return 0;
  const auto last = (*wal)->terms().last();
  const auto base = (*wal)->terms().base();
  std::uint64_t read = 0;
  const auto count = [&](const consensus::EntryView&) { ++read; };
  if (last.index > base.index)
    JOBBIE_CHECK((*wal)->read({base.index + 1, last.index + 1, UINT64_MAX}, count).has_value());
  JOBBIE_CHECK(read == last.index - base.index);
  const consensus::EntryView entry{last.index + 1, last.term, consensus::EntryType::plain, "more"};
  JOBBIE_CHECK((*wal)->append((*wal)->hard_state(), {&entry, 1}).has_value());
  const auto hard_state = (*wal)->hard_state();
  wal->reset();
  const auto again = log::Wal::open(disk, options);
  JOBBIE_CHECK(again.has_value());
  JOBBIE_CHECK((*again)->terms().last().index == last.index + 1);
  JOBBIE_CHECK((*again)->hard_state() == hard_state);
  return 0;
}
