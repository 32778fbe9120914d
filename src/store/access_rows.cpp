// The statements for keys and audited actions.
#include "store/access_rows.hpp"

#include <limits>
#include <string_view>

#include "command/codec.hpp"
#include "store/store.hpp"

namespace jobbie::store {

base::Result<AccessWriter> AccessWriter::make(Connection& connection) {
  AccessWriter writer;
  const std::pair<Statement*, std::string_view> wanted[] = {
      {&writer.put_key_, "INSERT OR REPLACE INTO key_rows VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
      {&writer.delete_key_, "DELETE FROM key_rows WHERE seq = ?1"},
      {&writer.put_action_,
       "INSERT INTO audit_rows (at, key_id, name, address, action, target, outcome) "
       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"}};
  for (const auto& [statement, sql] : wanted) {
    auto prepared = connection.prepare(sql);
    if (!prepared) return std::unexpected(std::move(prepared).error());
    *statement = *std::move(prepared);
  }
  return writer;
}

bool AccessWriter::put(const model::KeyRecord& key) {
  scratch_.clear();
  command::encode(command::Item(key), scratch_);
  put_key_.bind(1, key.id.sequence());
  put_key_.bind_copy(2, key.id.text());
  put_key_.bind_key(3, key.spec.name.view());
  put_key_.bind(4, std::int64_t{key.spec.scopes});
  put_key_.bind_text(5, key.spec.last_four.view());
  put_key_.bind(6, key.id.ulid.time().ms);
  put_key_.bind_blob(7, scratch_);
  return put_key_.run();
}

bool AccessWriter::remove(const command::RemovedKey& removed) {
  delete_key_.bind(1, removed.key.sequence());
  return delete_key_.run();
}

bool AccessWriter::append(const model::AuditRecord& record) {
  put_action_.bind(1, record.at.ms);
  put_action_.bind_text(2, record.key.view());
  put_action_.bind_text(3, record.name.view());
  put_action_.bind_text(4, record.address.view());
  put_action_.bind_key(5, record.action.view());
  put_action_.bind_text(6, record.target.view());
  put_action_.bind_key(7, record.outcome.view());
  return put_action_.run();
}

base::Result<std::vector<std::pair<std::uint64_t, model::AuditRecord>>> read_audit(
    Connection& connection, const AuditWanted& wanted) {
  auto select = connection.prepare(
      "SELECT number, at, key_id, name, address, action, target, outcome FROM audit_rows "
      "WHERE number < ?1 AND at >= ?2 AND at < ?3 AND (?4 IS NULL OR key_id = ?4 OR name = ?4) "
      "AND (?5 IS NULL OR action = ?5) AND (?6 IS NULL OR target = ?6) "
      "ORDER BY number DESC LIMIT ?7");
  if (!select) return std::unexpected(std::move(select).error());
  select->bind(1, wanted.before == 0 ? std::numeric_limits<std::int64_t>::max()
                                     : static_cast<std::int64_t>(wanted.before));
  select->bind(2, wanted.since.ms);
  select->bind(3, wanted.until.ms);
  select->bind_text(4, wanted.key);
  select->bind_text(5, wanted.action);
  select->bind_text(6, wanted.target);
  select->bind(7, static_cast<std::int64_t>(wanted.limit));
  base::Result<std::vector<std::pair<std::uint64_t, model::AuditRecord>>> out;
  for (;;) {
    const Step step = select->step();
    if (step == Step::done) return out;
    if (step == Step::failed) return std::unexpected(connection.error());
    out->emplace_back(select->number(0),
                      model::AuditRecord{.at = select->instant(1),
                                         .key = base::Blob(select->bytes(2)),
                                         .name = base::Blob(select->bytes(3)),
                                         .address = base::Blob(select->bytes(4)),
                                         .action = base::Blob(select->bytes(5)),
                                         .target = base::Blob(select->bytes(6)),
                                         .outcome = base::Blob(select->bytes(7))});
  }
}

}  // namespace jobbie::store
