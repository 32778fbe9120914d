// Counting what is open.
#include "descriptors.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sys/resource.h>

#include "http/limits.hpp"

namespace jobbie::app {
namespace {

using base::Level;

/// Standard streams and what a supervisor hands down, the log (its directory, the eight
/// latest segments, twice, the next one, and two that are read), the database (writer,
/// checkpointer, readers and searchers, each with the log of SQLite), a backup that is made and
/// sent, webhooks and traces with the lookup of their names, the listening socket, files of time
/// zones.
constexpr std::size_t kBase = 88;
/// Of the event loop of one thread that serves connections.
constexpr std::size_t kPerThread = 4;
/// Connections from and to one other node.
constexpr std::size_t kPerNode = 5;
/// The cluster port itself, and snapshots that leave and arrive with their files.
constexpr std::size_t kCluster = 20;
constexpr std::size_t kMostStrangers = 64;
constexpr std::size_t kLeastStrangers = 8;

/// A server with fewer connections than this is of no use.
constexpr std::size_t kLeastConnections = 16;
/// With fewer than this, somebody should look at the limit.
constexpr std::size_t kFewConnections = 1000;

/// The limit in force, as high as it may be.
std::size_t raised_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace

Descriptors plan_descriptors(std::size_t limit, const Settings& settings) {
  Descriptors plan{.limit = limit, .reserved = kBase + kPerThread * settings.io_threads};
  if (settings.cluster) {
    const std::size_t others = std::max<std::size_t>(settings.peers.size(), settings.cluster_size);
    plan.strangers = std::clamp(limit / 16, kLeastStrangers, kMostStrangers);
    plan.reserved += kCluster + kPerNode * others + plan.strangers;
  }
  const std::size_t left = limit - std::min(limit, plan.reserved);
  plan.connections = std::min(http::Limits{}.connections, left);
  // No single client keeps all others out.
  plan.per_address = (plan.connections + 1) / 2;
  return plan;
}

base::Result<Descriptors> prepare_descriptors(const Settings& settings, base::Journal& journal) {
  const Descriptors plan = plan_descriptors(raised_limit(), settings);
  if (plan.connections < kLeastConnections)
    return std::unexpected(base::Error{
        .code = "too_few_descriptors",
        .message = fmt::format("{} open files are allowed (ulimit -Hn), {} are needed beside "
                               "connections: allow at least {}, better 65536",
                               plan.limit, plan.reserved, plan.reserved + kLeastConnections)});
  const bool few = plan.connections < kFewConnections;
  journal.write(few ? Level::warning : Level::info, few ? "few_descriptors" : "descriptors",
                {{"limit", std::uint64_t{plan.limit}},
                 {"reserved", std::uint64_t{plan.reserved}},
                 {"connections", std::uint64_t{plan.connections}},
                 {"connections_per_address", std::uint64_t{plan.per_address}},
                 {"message", few ? std::string_view("The system allows few open files, so few "
                                                    "clients can connect. Raise the limit "
                                                    "(LimitNOFILE=65536, ulimit -n).")
                                 : std::string_view("Connections beyond this are refused.")}});
  return plan;
}

}  // namespace jobbie::app
