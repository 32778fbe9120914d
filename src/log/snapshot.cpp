// Reading a snapshot message: raft-rs's Message with a Snapshot, and our configuration as its data.
#include "log/snapshot.hpp"

#include "consensus/message.hpp"

namespace jobbie::log {

base::Result<SnapshotMessage> read_snapshot_message(std::string_view bytes) {
  const auto malformed = [] {
    return std::unexpected(base::Error{"malformed", "this is no snapshot message"});
  };
  const auto head = consensus::read_head(bytes);
  if (!head || head->type != consensus::kMsgSnapshot) return malformed();
  SnapshotMessage out{.from = head->from, .to = head->to, .term = head->term};
  consensus::Fields snapshot(head->snapshot);
  std::string_view data;
  std::string_view metadata;
  while (snapshot.next()) {
    if (snapshot.field() == 1) data = snapshot.bytes();
    if (snapshot.field() == 2) metadata = snapshot.bytes();
  }
  consensus::Fields place(metadata);
  while (place.next()) {
    if (place.field() == 2) out.at.index = place.number();
    if (place.field() == 3) out.at.term = place.number();
  }
  auto configured = decode_configured(data);
  if (!snapshot.ok() || !place.ok() || !configured) return malformed();
  out.configured = *std::move(configured);
  if (out.at.index == 0 || out.at.term == 0 || out.at.term > out.term ||
      out.configured.index > out.at.index)
    return malformed();
  return out;
}

}  // namespace jobbie::log
