// A face that asks for keys.
#include <gtest/gtest.h>

#include "base/digest.hpp"
#include "face/native/native_test_support.hpp"
#include "face/secret.hpp"

namespace jobbie::face {
namespace {

using base::Blob;
using http::Method;
using model::Scope;

TEST(Access, SecretsAreLongAndDiffer) {
  const auto a = make_secret();
  EXPECT_EQ(a.size(), 44U);
  EXPECT_TRUE(a.starts_with("jbk_"));
  EXPECT_NE(a, make_secret());
  model::KeySpec key;
  keep_secret(a, key);
  EXPECT_EQ(key.last_four.view(), a.substr(40));
  EXPECT_EQ(key.digest.view(), base::bytes_of(base::sha256(a)));
}

/// A service with one key, for `mail.*`.
class KeyedService final : public call::Service {
 public:
  KeyedService() {
    model::KeyRecord key{
        .id = {base::Ulid::make({1}, 1, 1)},
        .spec = {.name = Blob("mail"),
                 .scopes = model::scope_bit(Scope::produce) | model::scope_bit(Scope::manage),
                 .queues = {Blob("mail.*")}}};
    keep_secret("jbk_test", key.spec);
    board.publish(std::make_shared<const call::KeyRing>(std::vector{key}));
  }
  void submit(std::unique_ptr<call::Call> /*call*/) override {}
  [[nodiscard]] bool ready() const override { return true; }
  [[nodiscard]] const call::KeyBoard* keys() override { return &board; }
  call::KeyBoard board;
};

class KeyedFace : public ::testing::Test {
 protected:
  Prepared ask(Method method, std::string path, std::string body, std::string_view bearer) {
    const http::Header header{.name = "authorization", .value = bearer};
    const http::Request request{.method = method,
                                .method_text = http::method_name(method),
                                .target = path,
                                .path = path,
                                .body = body,
                                .headers = {&header, bearer.empty() ? 0U : 1U},
                                .remote = "10.1.2.3:4567"};
    return face_.prepare(request, inbox_);
  }

  KeyedService service_;
  NoInbox inbox_;
  Native face_{service_, {.require_keys = true}};
};

TEST_F(KeyedFace, AsksWhoIsThere) {
  EXPECT_EQ(ask(Method::get, "/healthz", "", "").answer.status, 200);
  const auto nobody = ask(Method::get, "/api/v1/queues", "", "").answer;
  EXPECT_EQ(nobody.status, 401);
  EXPECT_NE(nobody.challenge, nullptr);
  for (const auto* odd : {"Bearer jbk_other", "Basic jbk_test", "jbk_test", "Bearer", "Bearer "})
    EXPECT_EQ(ask(Method::get, "/api/v1/queues", "", odd).answer.status, 401) << odd;
  EXPECT_TRUE(ask(Method::get, "/api/v1/queues", "", "bearer  jbk_test ").exchange);
}

TEST_F(KeyedFace, JudgesScopeAndQueues) {
  const auto status = [&](std::string path, std::string body) {
    return ask(Method::post, std::move(path), std::move(body), "Bearer jbk_test").answer.status;
  };
  EXPECT_EQ(status("/api/v1/fetch", R"({"queues":["mail.a"]})"), 403);
  EXPECT_EQ(status("/api/v1/enqueue", R"({"queue":"other"})"), 403);
  EXPECT_EQ(status("/api/v1/enqueue", R"({"queue":"no good"})"), 400);
  EXPECT_EQ(status("/api/v1/queues/other/pause", ""), 403);
  EXPECT_EQ(status("/api/v1/keys", "{}"), 403);
}

TEST_F(KeyedFace, TheGrantAndTheAuditTravelWithTheCall) {
  const auto made = ask(Method::post, "/api/v1/queues/mail.a/pause", "", "Bearer jbk_test");
  ASSERT_TRUE(made.exchange);
  ASSERT_TRUE(made.exchange->principal.grant);
  EXPECT_EQ(made.exchange->principal.grant->name, "mail");
  ASSERT_TRUE(made.exchange->audit);
  EXPECT_EQ(made.exchange->audit->action.view(), "queue.pause");
  EXPECT_EQ(made.exchange->audit->target.view(), "mail.a");
  EXPECT_EQ(made.exchange->audit->name.view(), "mail");
  EXPECT_EQ(made.exchange->audit->address.view(), "10.1.2.3");
  EXPECT_EQ(made.exchange->audit->commands, 1U);
  const auto enqueued =
      ask(Method::post, "/api/v1/enqueue", R"({"queue":"mail.a"})", "Bearer jbk_test");
  ASSERT_TRUE(enqueued.exchange);
  EXPECT_FALSE(enqueued.exchange->audit);
}

TEST_F(KeyedFace, TellsOfAWorkerWhatTheKeyIsFor) {
  auto listed = ask(Method::get, "/api/v1/workers", "", "Bearer jbk_test");
  ASSERT_TRUE(listed.exchange);
  call::WorkerPage page;
  page.rows.resize(2);
  page.rows[0].spec = {.id = Blob("shared"), .queues = {Blob("mail.a"), Blob("sms"), Blob("m*")}};
  page.rows[1].spec = {.id = Blob("mine"), .queues = {Blob("mail.a")}};
  page.rows[0].active = page.rows[1].active = 3;
  listed.exchange->answer = page;
  Answer out;
  listed.exchange->write_answer(out);
  const auto rows = member_of(out, "workers");
  EXPECT_NE(rows.find(R"("queues":["mail.a","m*"])"), std::string::npos) << rows;
  EXPECT_NE(rows.find(R"("active":null)"), std::string::npos) << rows;
  EXPECT_NE(rows.find(R"("active":3)"), std::string::npos) << rows;
  EXPECT_EQ(rows.find("sms"), std::string::npos) << rows;
}

TEST_F(KeyedFace, ARevokedKeyIsNoKey) {
  service_.board.publish(std::make_shared<const call::KeyRing>(std::vector<model::KeyRecord>{}));
  EXPECT_EQ(ask(Method::get, "/api/v1/queues", "", "Bearer jbk_test").answer.status, 401);
}

}  // namespace
}  // namespace jobbie::face
