// What happens to a log as a whole while nobody runs it: whether there is one, beginning one behind
// a state, going on alone.
#include <utility>

#include "log/log.hpp"
#include "log/wal_recovery.hpp"

namespace jobbie::log {

WalOptions Log::wal_options(const Options& options) {
  return {.directory = options.directory,
          .node_id = options.node_id,
          .founders = options.founders,
          .founders_index = options.founders_index,
          .segment_bytes = options.segment_bytes,
          .leave_free_bytes = options.leave_free_bytes,
          .seed = options.seed,
          .preparing = options.preparing,
          .test = options.test};
}

base::Result<bool> Log::exists(Disk& disk, const std::string& directory) {
  if (auto made = disk.make_directory(directory); !made) return std::unexpected(made.error());
  const auto names = disk.list(directory);
  if (!names) return std::unexpected(names.error());
  bool begun = false;
  for (const auto& text : *names) {
    const auto name = parse_segment_name(text);
    if (!name || name->kind != SegmentKind::active) continue;
    if (name->sequence != 1) return true;
    begun = true;
  }
  if (!begun) return false;
  // The first segment alone: a log from its first record on. One that cannot be read is no reason
  // to begin another; opening it tells what is wrong.
  const auto path = segment_path(directory, {1, SegmentKind::active});
  const auto file = disk.open(path, OpenMode::existing);
  if (!file) return std::unexpected(file.error());
  std::string bytes(kSegmentHeaderBytes, '\0');
  const auto got = (*file)->read_at(0, bytes);
  if (!got) return std::unexpected(got.error());
  bytes.resize(*got);
  const auto header = decode_segment_header(bytes);
  if (!header) return true;
  SegmentReader reader(**file, *header);
  const auto first = reader.find(kSegmentHeaderBytes, 1);
  if (!first) return std::unexpected(first.error());
  return first->has_value();
}

base::Result<void> Log::begin_at(Disk& disk, const Options& options, const consensus::Position& at,
                                 const Configuration& configuration) {
  const auto there = exists(disk, options.directory);
  if (!there) return std::unexpected(there.error());
  if (*there)
    return std::unexpected(base::Error{std::string(kLogExists), "there is a log already"});
  if (at.index < kBootstrap.index || at.term < kBootstrap.term)
    return std::unexpected(base::Error{"bad_option", "a log begins behind entry 1 or later"});
  auto wal_options = Log::wal_options(options);
  wal_options.begin_at = at;
  wal_options.founders = configuration;
  auto wal = Wal::open(disk, wal_options);
  if (!wal) return std::unexpected(wal.error());
  return {};
}

base::Result<void> Log::recover_alone(Disk& disk, const Options& options,
                                      const Configuration& configuration) {
  if (auto sound = check(configuration); !sound) return sound;
  const auto there = exists(disk, options.directory);
  if (!there) return std::unexpected(there.error());
  if (!*there) return std::unexpected(base::Error{std::string(kNoLog), "there is no log"});
  auto wal = Wal::open(disk, wal_options(options));
  if (!wal) return std::unexpected(wal.error());
  if (configuration.members.size() != 1 || !configuration.is_voter((*wal)->node_id()))
    return std::unexpected(base::Error{
        "bad_configuration", "a node that goes on alone is the only member, and a voter"});
  // All entries count as committed, and as older than the configuration: a change among them is not
  // applied to it.
  const auto last = (*wal)->terms().last().index;
  auto hard_state = (*wal)->hard_state();
  hard_state.commit = last;
  return (*wal)->configure(hard_state,
                           {.configuration = configuration, .index = last, .joined = true});
}

}  // namespace jobbie::log
