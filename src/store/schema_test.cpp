// What each version of the schema is, against tests/golden/schema_vN.sql: a migration that has been
// released must not change.
#include <fstream>
#include <sqlite3.h>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "store/migrations.hpp"
#include "store/sqlite.hpp"
#include "store/store_test_support.hpp"

namespace jobbie::store {
namespace {

using testing::open_store;
using testing::TempFolder;

/// The first version that has a golden file; it covers the ones before it.
constexpr int kFirstGolden = 4;

std::string schema_of(sqlite3* db) {
  std::string out;
  const auto add = [](void* to, int, char** values, char**) {
    static_cast<std::string*>(to)->append(values[0]).append(";\n\n");
    return 0;
  };
  sqlite3_exec(db, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name", add,
               &out, nullptr);
  return out;
}

TEST(Schema, EveryVersionIsWhatItWas) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  int compared = 0;
  for (const Migration& migration : migrations()) {
    ASSERT_EQ(sqlite3_exec(db, std::string(migration.sql).c_str(), nullptr, nullptr, nullptr),
              SQLITE_OK)
        << migration.name << ": " << sqlite3_errmsg(db);
    if (migration.version < kFirstGolden) continue;
    const auto name = "schema_v" + std::to_string(migration.version) + ".sql";
    std::ifstream golden(std::string(JOBBIE_SOURCE_DIR) + "/tests/golden/" + name);
    std::stringstream expected;
    expected << golden.rdbuf();
    const auto seen = ::testing::TempDir() + name;
    std::ofstream(seen) << schema_of(db);
    EXPECT_EQ(schema_of(db), expected.str())
        << "A new version gets a new golden file; an old one never changes. Now it is as in "
        << seen;
    ++compared;
  }
  sqlite3_close(db);
  EXPECT_GT(compared, 0);
}

TEST(Schema, IdempotencyKeysFromBeforeScopesStay) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  const auto run = [&](std::string_view sql) {
    ASSERT_EQ(sqlite3_exec(db, std::string(sql).c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
  };
  constexpr int kScopes = 7;
  for (const Migration& migration : migrations()) {
    if (migration.version == kScopes)
      run("INSERT INTO idempotency_rows VALUES ('order-1', 12, 34, x'0102')");
    run(migration.sql);
  }
  std::string row;
  const auto take = [](void* to, int, char** values, char**) {
    for (int i = 0; i < 4; ++i) static_cast<std::string*>(to)->append(values[i]).append("|");
    return 0;
  };
  sqlite3_exec(db, "SELECT scope, key, fingerprint, expires_at FROM idempotency_rows", take, &row,
               nullptr);
  EXPECT_EQ(row, "|order-1|12|34|");
  sqlite3_close(db);
}

/// People ask the views: what they ask for most must not read the whole table.
TEST(Schema, QuestionsToTheViewFindAnIndex) {
  const TempFolder folder;
  { const auto store = open_store(folder.file()); }
  auto connection = Connection::open(folder.file(), Access::read_only, 1 << 20);
  ASSERT_TRUE(connection.has_value());
  const std::pair<std::string, std::string> questions[] = {
      {"queue = 'a'", "job_rows_by_state (ANY(state) AND queue=?)"},
      {"queue = 'a' ORDER BY seq DESC LIMIT 9", "job_rows_by_state (ANY(state) AND queue=?)"},
      {"state = 'dead'", "job_rows_by_state (state=?)"},
      {"state = 'dead' AND queue = 'a'", "job_rows_by_state (state=? AND queue=?)"},
      {"group_name = 'a'", "job_rows_by_group (group_name=?)"},
      {"seq > 7", "INTEGER PRIMARY KEY (rowid>?)"}};
  const auto plan_of = [&](const std::string& question) {
    auto plan = connection->prepare("EXPLAIN QUERY PLAN SELECT " + question);
    EXPECT_TRUE(plan.has_value()) << question;
    std::string text;
    while (plan && plan->step() == Step::row) text.append(plan->bytes(3)).append("\n");
    return text;
  };
  for (const auto& [question, index] : questions) {
    const auto plan = plan_of("id FROM jobs WHERE " + question);
    EXPECT_NE(plan.find(index), std::string::npos) << question << "\n" << plan;
  }
  for (const char* question :
       {"error FROM job_errors LIMIT 20", "message FROM job_logs LIMIT 20"}) {
    const auto plan = plan_of(question);
    EXPECT_EQ(plan.find("BLOOM"), std::string::npos) << "it reads all jobs first\n" << plan;
  }
}

}  // namespace
}  // namespace jobbie::store
