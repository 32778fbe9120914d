// GET /healthz, /readyz and /: answers without the node.
#include <fmt/format.h>

#include "base/json_writer.hpp"
#include "face/native/endpoints.hpp"
#include "face/parameters.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

}  // namespace

void ReadyAnswer::render(Answer& out) const {
  out.status = ready.status;
  out.problem = ready.problem;
  out.body = ready.body;
  out.type = ready.type;
  out.etag = ready.etag;
}

Outcome healthz(const Input& input) {
  auto answer = std::make_unique<ReadyAnswer>(input.inbox);
  answer->ready.body = R"({"status":"ok"})";
  return answer;
}

Outcome readyz(const Input& input) {
  auto answer = std::make_unique<ReadyAnswer>(input.inbox);
  Answer& out = answer->ready;
  const auto health = input.service.health();
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
  return answer;
}

Outcome root(const Input& input) {
  auto answer = std::make_unique<ReadyAnswer>(input.inbox);
  answer->ready.body =
      R"({"name":"jobbie","api":"/api/v1","health":"/healthz","ready":"/readyz","metrics":"/metrics","openapi":"/api/v1/openapi.json"})";
  return answer;
}

}  // namespace jobbie::face::native
