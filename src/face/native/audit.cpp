// GET /api/v1/audit: what was done by those who manage, newest first.
#include "face/native/manage.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

constexpr Shape<call::AuditRow> kAuditShape{
    .list = "actions",
    .what = "action",
    .write =
        [](Writer& json, const call::AuditRow& row, base::Instant /*now*/) {
          json.begin_object();
          json.member("number").number(row.number);
          json.member("at").instant(row.at);
          json.member("key");
          if (row.key) {
            json.begin_object();
            write_text(json, "id", row.key);
            write_text(json, "name", row.name);
            json.end_object();
          } else {
            json.null();
          }
          write_text(json, "by", row.name);
          write_text(json, "address", row.address);
          write_text(json, "action", row.action);
          write_text(json, "target", row.target);
          write_text(json, "outcome", row.outcome);
          json.end_object();
        },
    .name = [](const call::AuditRow& row) { return std::to_string(row.number); }};

}  // namespace

Outcome audit(const Input& input) {
  const auto given = Parameters::read(
      input.request.query, {"cursor", "limit", "key", "action", "target", "since", "until"});
  if (!given) return std::unexpected(given.error());
  call::AuditQuery query{.limit = 100,
                         .key = std::string(given->text("key")),
                         .action = std::string(given->text("action")),
                         .target = std::string(given->text("target"))};
  if (auto problem = given->cursor(kAuditShape.list, query.before))
    return std::unexpected(*std::move(problem));
  std::uint64_t limit = query.limit;
  if (auto problem = given->integer("limit", 1, kMostRows, limit))
    return std::unexpected(*std::move(problem));
  query.limit = static_cast<std::uint32_t>(limit);
  if (auto problem = given->instant("since", query.since))
    return std::unexpected(*std::move(problem));
  if (auto problem = given->instant("until", query.until))
    return std::unexpected(*std::move(problem));
  auto exchange = std::make_unique<ListExchange<call::AuditRow>>(input.inbox, kAuditShape);
  exchange->query = std::move(query);
  return exchange;
}

}  // namespace jobbie::face::native
