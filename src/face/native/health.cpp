// GET /healthz, /readyz and /.
#include <fmt/format.h>

#include "base/json_writer.hpp"
#include "face/native/endpoints.hpp"
#include "face/parameters.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

}  // namespace

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
