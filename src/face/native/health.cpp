// GET /healthz, /readyz, / and /api/v1/cluster/status.
#include <fmt/format.h>

#include "base/json_writer.hpp"
#include "face/native/endpoints.hpp"
#include "face/parameters.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

class ClusterStatus final : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  void render(Answer& out) const override {
    const auto* status = std::get_if<call::NodeStatus>(&answer);
    if (status == nullptr) return write(Problem{}, out);
    Writer json(out.body);
    json.begin_object();
    json.member("node_id").number(status->node_id);
    json.member("role").plain(role(*status));
    json.member("leader_id");
    if (status->leader)
      json.number(status->node_id);
    else
      json.null();
    json.member("term").number(status->term);
    write_progress(json, *status);
    json.member("nodes").begin_array().begin_object();
    json.member("id").number(status->node_id);
    json.member("role").plain(role(*status));
    json.member("applied_index").number(status->applied_index);
    json.end_object().end_array();
    json.end_object();
  }

  static const char* role(const call::NodeStatus& status) {
    return status.leader ? "leader" : "follower";
  }

  static void write_progress(Writer& json, const call::NodeStatus& status) {
    json.member("applied_index").number(status.applied_index);
    json.member("stored_index").number(status.stored_index);
    json.member("durable_index").number(status.durable_index);
    json.member("state_hash").plain(fmt::format("{:016x}", status.state_hash));
    json.member("live_jobs").number(status.live_jobs);
    json.member("waiting_fetches").number(status.waiting_fetches);
    json.member("store_lag_rows").number(status.store_lag_rows);
    json.member("disk_full").boolean(status.disk_full);
    json.member("now").instant(status.now);
    json.member("started_at").instant(status.started_at);
  }
};

}  // namespace

Outcome cluster_status(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  auto exchange = std::make_unique<ClusterStatus>(input.inbox);
  exchange->query = call::StatusQuery{};
  return exchange;
}

void healthz(Answer& out) { out.body = R"({"status":"ok"})"; }

void readyz(const call::Health& health, Answer& out) {
  const bool ready =
      health.serving && health.leader && health.log_writable && health.database_writable;
  out.status = ready ? 200 : 503;
  Writer json(out.body);
  json.begin_object();
  json.member("status").plain(ready ? "ready" : "not_ready");
  json.member("checks").begin_object();
  json.member("serving").boolean(health.serving);
  json.member("leader").boolean(health.leader);
  json.member("log_writable").boolean(health.log_writable);
  json.member("database_writable").boolean(health.database_writable);
  json.end_object();
  json.end_object();
}

void root(Answer& out) {
  out.body =
      R"({"name":"jobbie","api":"/api/v1","health":"/healthz","ready":"/readyz","metrics":"/metrics","openapi":"/api/v1/openapi.json"})";
}

}  // namespace jobbie::face::native
