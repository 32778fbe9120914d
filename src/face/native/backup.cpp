// GET /api/v1/backup: a copy of the whole database, as a file.
#include <fmt/format.h>

#include "base/digest.hpp"
#include "face/native/endpoints.hpp"
#include "face/parameters.hpp"

namespace jobbie::face::native {
namespace {

using Outcomes = call::BackupAnswer::Outcome;

class BackupExchange final : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  void render(Answer& out) const override {
    const auto* made = std::get_if<call::BackupAnswer>(&answer);
    if (made == nullptr) return write(Problem{}, out);
    switch (made->outcome) {
      case Outcomes::made:
        return render(made->backup, out);
      case Outcomes::running:
        return write({.status = 409,
                      .code = "backup_running",
                      .detail = "Another backup is being made or sent; there is one at a time.",
                      .retry_after_s = kRetry_s},
                     out);
      case Outcomes::outpaced:
        return write(
            {.status = 503,
             .code = "backup_outpaced",
             .detail = "So much was written while the database was copied that its write-ahead "
                       "log became too long; try again when there is less to do.",
             .retry_after_s = kRetry_s},
            out);
      case Outcomes::no_room:
        return write(
            {.status = 507, .code = "disk_full", .detail = made->detail, .retry_after_s = kRetry_s},
            out);
    }
  }

  static void render(const call::Backup& backup, Answer& out) {
    const auto digest = base::bytes_of(backup.sha256);
    out.type = "application/vnd.sqlite3";
    out.file = {.descriptor = backup.descriptor, .bytes = backup.bytes, .owner = backup.owner};
    out.headers = {{"content-disposition",
                    fmt::format("attachment; filename=\"jobbie-{}.db\"", backup.applied_index)},
                   {"repr-digest", fmt::format("sha-256=:{}:", base::base64(digest))},
                   {"x-jobbie-sha256", base::hex(digest)},
                   {"x-jobbie-applied-index", std::to_string(backup.applied_index)},
                   {"cache-control", "no-store"}};
  }

  static constexpr unsigned kRetry_s = 30;
};

}  // namespace

Outcome backup(const Input& input) {
  const auto given = Parameters::read(input.request.query, {});
  if (!given) return std::unexpected(given.error());
  auto exchange = std::make_unique<BackupExchange>(input.inbox);
  exchange->query = call::BackupQuery{};
  return exchange;
}

}  // namespace jobbie::face::native
