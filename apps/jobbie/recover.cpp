// The log's configuration is rewritten; the entries and the database stay as they are.
#include "recover.hpp"

#include <cstdio>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/session.hpp"
#include "log/disk.hpp"
#include "log/log.hpp"
#include "node/node.hpp"

namespace jobbie::app {
namespace {

int failed(const base::Error& error) {
  fmt::print(stderr, "jobbie: {}\n", error.message);
  return error.code == log::kDirectoryInUse ? cli::kConflict : cli::kFailed;
}

}  // namespace

void declare_recover(CLI::App& command, RecoverOptions& options) {
  command.add_option("--data-dir", options.data_dir, "Of the stopped node")
      ->envname("JOBBIE_DATA_DIR")
      ->capture_default_str();
  command.add_flag("--yes", options.yes, "The other nodes are lost for good");
  command.footer(
      "Examples:\n"
      "  jobbie cluster recover --data-dir /var/lib/jobbie\n"
      "  jobbie cluster recover --data-dir /var/lib/jobbie --yes");
}

int recover(const RecoverOptions& options) {
  const auto disk = log::posix_disk();
  log::Options log_options;
  log_options.directory = options.data_dir + "/log";
  std::error_code ignored;
  if (!std::filesystem::is_directory(log_options.directory, ignored)) {
    fmt::print(stderr, "jobbie: there is no data of a node in {}\n", options.data_dir);
    return cli::kNotFound;
  }
  const auto exists = log::Log::exists(*disk, log_options.directory);
  if (!exists) return failed(exists.error());
  if (!*exists) {
    fmt::print(stderr, "jobbie: there is no log in {}\n", options.data_dir);
    return cli::kNotFound;
  }
  log::Configuration before;
  std::uint64_t self = 0;
  {
    const auto opened = log::Log::open(*disk, log_options);
    if (!opened) return failed(opened.error());
    before = (*opened)->configuration();
    self = (*opened)->node_id();
  }
  if (!options.yes) {
    fmt::print(
        stderr,
        "jobbie: this node would go on alone, without the other {} of its cluster. What only "
        "they had is lost, although it may have been acknowledged, and they must never run "
        "again with the data they have. If that is so, say --yes.\n",
        before.members.size() - (before.find(self) != nullptr ? 1 : 0));
    return cli::kUsage;
  }
  log::Member alone;
  if (const auto* member = before.find(self)) alone = *member;
  alone.id = self;
  alone.voter = true;
  if (alone.name.empty()) alone.name = "node-1";
  // Another cluster id keeps the other nodes away, should one of them come back after all.
  const log::Configuration after{.cluster_id = node::draw_id(), .members = {alone}};
  if (auto done = log::Log::recover_alone(*disk, log_options, after); !done)
    return failed(done.error());
  fmt::print(
      "{} is a cluster of its own now. Start it, then empty nodes with --peers of this one "
      "join it.\n",
      alone.name);
  return cli::kDone;
}

}  // namespace jobbie::app
