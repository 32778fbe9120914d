// /api/v1/cluster: how the nodes stand, and what changes them.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "face/native/manage.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

constexpr Fields kTransferFields(std::to_array<std::string_view>({"to"}));
constexpr Fields kAddFields(std::to_array<std::string_view>({"address"}));
constexpr std::size_t kMostNameBytes = 256;

/// Ids are larger than what every reader of JSON takes for a number.
std::string id_text(std::uint64_t id) { return fmt::format("{:016x}", id); }

const char* role_of(const call::NodeRow& row) {
  if (row.leader) return "leader";
  return row.voter ? "follower" : "learner";
}

class ClusterStatus final : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  void render(Answer& out) const override {
    const auto* status = std::get_if<call::NodeStatus>(&answer);
    if (status == nullptr) return write(Problem{}, out);
    Writer json(out.body);
    json.begin_object();
    write_standing(json, *status);
    write_progress(json, *status);
    json.member("nodes").begin_array();
    for (const auto& row : status->nodes) write_node(json, row, *status);
    json.end_array();
    json.end_object();
  }

  static void write_standing(Writer& json, const call::NodeStatus& status) {
    std::size_t voters = 0;
    std::size_t alive = 0;
    const call::NodeRow* leader = nullptr;
    for (const auto& row : status.nodes) {
      voters += row.voter ? 1 : 0;
      alive += row.voter && row.connected ? 1 : 0;
      if (row.leader) leader = &row;
    }
    const std::size_t quorum = voters / 2 + 1;
    json.member("cluster_id").plain(id_text(status.cluster_id));
    json.member("node_id").plain(id_text(status.node_id));
    json.member("node").string(status.name);
    json.member("role").plain(status.role);
    json.member("leader");
    if (leader != nullptr)
      json.string(leader->name);
    else
      json.null();
    json.member("leader_id");
    if (status.leader_id != 0)
      json.plain(id_text(status.leader_id));
    else
      json.null();
    json.member("quorum").number(quorum);
    json.member("healthy").boolean(leader != nullptr && alive >= quorum);
    json.member("term").number(status.term);
  }

  static void write_progress(Writer& json, const call::NodeStatus& status) {
    json.member("applied_index").number(status.applied_index);
    json.member("commit_index").number(status.commit_index);
    json.member("first_index").number(status.first_index);
    json.member("stored_index").number(status.stored_index);
    json.member("durable_index").number(status.durable_index);
    json.member("state_hash").plain(fmt::format("{:016x}", status.state_hash));
    json.member("live_jobs").number(status.live_jobs);
    json.member("waiting_fetches").number(status.waiting_fetches);
    json.member("store_lag_rows").number(status.store_lag_rows);
    json.member("disk_full").boolean(status.disk_full);
    json.member("memory_full").boolean(status.memory_full);
    json.member("memory_limit_bytes").number(status.memory_limit);
    json.member("memory_used_bytes").number(status.memory_used);
    json.member("now").instant(status.now);
    json.member("clock_offset_ms").number(status.clock_offset.ms);
    json.member("started_at").instant(status.started_at);
  }

  static void write_node(Writer& json, const call::NodeRow& row, const call::NodeStatus& status) {
    json.begin_object();
    json.member("id").plain(id_text(row.id));
    json.member("name").string(row.name);
    json.member("address").string(row.address);
    json.member("http").string(row.http);
    json.member("role").plain(role_of(row));
    json.member("voter").boolean(row.voter);
    json.member("self").boolean(row.self);
    json.member("connected").boolean(row.connected);
    json.member("applied_index");
    if (row.self)
      json.number(status.applied_index);
    else
      json.null();
    json.member("matched_index");
    if (row.matched_index)
      json.number(*row.matched_index);
    else
      json.null();
    json.member("lag");
    if (row.matched_index && status.commit_index != 0)
      json.number(status.commit_index - std::min(status.commit_index, *row.matched_index));
    else
      json.null();
    json.member("state");
    if (row.replication != nullptr)
      json.plain(row.replication);
    else
      json.null();
    json.member("round_trip_ms");
    if (row.round_trip_us)
      json.seconds({*row.round_trip_us});  // thousandths of what is written, which is milliseconds
    else
      json.null();
    write_instant(json, "since", row.since);
    json.member("last_error");
    if (row.last_error.empty())
      json.null();
    else
      json.string(row.last_error);
    json.end_object();
  }
};

int status_of_change(std::string_view code) {
  if (code == "not_found") return 404;
  if (code == "timeout" || code == "stopping") return 503;
  return code == "snapshot_failed" ? 500 : 409;
}

class ClusterChanged final : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  void render(Answer& out) const override {
    const auto* done = std::get_if<call::ClusterAnswer>(&answer);
    if (done == nullptr) return write(Problem{}, out);
    if (done->code.empty()) {
      out.body = R"({"status":"done"})";
      return;
    }
    Problem problem{.status = status_of_change(done->code),
                    .code = done->code == "timeout" ? "not_done_yet" : "internal",
                    .detail = done->message};
    for (const char* known :
         {"not_found", "not_a_cluster", "would_lose_quorum", "last_node", "not_a_voter",
          "not_connected", "no_heir", "snapshot_failed", "stopping"})
      if (done->code == known) problem.code = known;
    if (problem.status == 503) problem.retry_after_s = 1;
    write(problem, out);
  }
};

Outcome change(const Input& input, call::ClusterAction action, std::string target) {
  if (target.size() > kMostNameBytes)
    return std::unexpected(not_found("node", target.substr(0, kMostNameBytes)));
  auto exchange = std::make_unique<ClusterChanged>(input.inbox);
  exchange->query = call::ClusterChange{.action = action, .target = std::move(target)};
  return exchange;
}

/// The one text that a body has.
template <typename OneField>
std::expected<std::string, Problem> read_text(const Input& input, const OneField& fields,
                                              std::string_view name, bool needed) {
  base::Blob text;
  bool given = false;
  if (!needed && input.request.body.empty()) return std::string();
  Body body(input.request.body);
  const bool read = body.object(fields, [&](std::size_t) {
    given = true;
    return body.text(text);
  });
  if (!read || !body.finish() || (needed && !given && !body.refuse_missing(name)))
    return std::unexpected(body.problem());
  return std::string(text.view());
}

}  // namespace

Outcome cluster_status(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  auto exchange = std::make_unique<ClusterStatus>(input.inbox);
  exchange->query = call::StatusQuery{};
  return exchange;
}

Outcome cluster_transfer(const Input& input) {
  auto to = read_text(input, kTransferFields, "to", false);
  if (!to) return std::unexpected(to.error());
  return change(input, call::ClusterAction::transfer, *std::move(to));
}

Outcome cluster_add(const Input& input) {
  auto address = read_text(input, kAddFields, "address", true);
  if (!address) return std::unexpected(address.error());
  if (address->find(':') == std::string::npos)
    return std::unexpected(bad_parameter("address", "must be HOST:PORT"));
  return change(input, call::ClusterAction::add, *std::move(address));
}

Outcome cluster_remove(const Input& input) {
  if (auto problem = refuse_details(input)) return std::unexpected(*std::move(problem));
  return change(input, call::ClusterAction::remove, std::string(input.id));
}

Outcome cluster_snapshot(const Input& input) {
  if (auto problem = refuse_details(input)) return std::unexpected(*std::move(problem));
  return change(input, call::ClusterAction::snapshot, {});
}

}  // namespace jobbie::face::native
