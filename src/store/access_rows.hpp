// Keys and the audit log as rows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "command/item.hpp"
#include "store/sqlite.hpp"

namespace jobbie::store {

struct AuditWanted;

/// A part of the change writer, under the same rules.
class AccessWriter {
 public:
  AccessWriter() = default;
  static base::Result<AccessWriter> make(Connection& connection);

  [[nodiscard]] bool put(const model::KeyRecord& key);
  [[nodiscard]] bool remove(const command::RemovedKey& removed);
  [[nodiscard]] bool append(const model::AuditRecord& record);

 private:
  Statement put_key_;
  Statement delete_key_;
  Statement put_action_;
  std::string scratch_;  ///< bytes bound to a statement until it has run
};

/// Actions with their numbers, newest first.
base::Result<std::vector<std::pair<std::uint64_t, model::AuditRecord>>> read_audit(
    Connection& connection, const AuditWanted& wanted);

}  // namespace jobbie::store
