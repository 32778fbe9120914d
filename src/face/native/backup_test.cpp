// GET /api/v1/backup without a server: what is asked for, and what each outcome is on the wire.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "face/native/native_test_support.hpp"

namespace jobbie::face {
namespace {

using Outcomes = call::BackupAnswer::Outcome;

class BackupTest : public NativeTest {
 protected:
  Answer answered(call::BackupAnswer outcome) {
    auto exchange = call({.method = http::Method::get, .path = "/api/v1/backup", .body = {}});
    EXPECT_TRUE(std::holds_alternative<call::BackupQuery>(exchange->query));
    exchange->answer = std::move(outcome);
    return answer(*exchange);
  }
};

TEST_F(BackupTest, IsAFileWithItsIndexAndItsDigest) {
  const auto out = answered({.outcome = Outcomes::made,
                             .backup = {.descriptor = 7,
                                        .bytes = 8'192,
                                        .applied_index = 42,
                                        .sha256 = base::sha256("abc"),
                                        .owner = {}}});
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.type, "application/vnd.sqlite3");
  EXPECT_EQ(out.file.descriptor, 7);
  EXPECT_EQ(out.file.bytes, 8'192U);
  std::string headers;
  for (const auto& [name, value] : out.headers)
    headers.append(name).append(": ").append(value) += '\n';
  EXPECT_EQ(headers,
            "content-disposition: attachment; filename=\"jobbie-42.db\"\n"
            "repr-digest: sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:\n"
            "x-jobbie-sha256: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n"
            "x-jobbie-applied-index: 42\n"
            "cache-control: no-store\n");
}

TEST_F(BackupTest, SaysWhyThereIsNone) {
  const auto running = answered({.outcome = Outcomes::running, .backup = {}});
  expect_problem(running, {"running", 409, "backup_running", ""});
  EXPECT_GT(running.retry_after_s, 0U);
  expect_problem(answered({.outcome = Outcomes::outpaced, .backup = {}}),
                 {"outpaced", 503, "backup_outpaced", ""});
}

}  // namespace
}  // namespace jobbie::face
