// A native face without a server: requests are values, the node is a script. For tests alone.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "call/call.hpp"
#include "face/native/native.hpp"

namespace jobbie::face {

inline constexpr std::string_view kJobA = "job_01JZ0000000000000000000001";
inline constexpr std::string_view kJobB = "job_01JZ0000000000000000000002";

inline base::JobId job_id(std::string_view text) { return base::JobId::parse(text).value(); }

class NoInbox final : public call::Inbox {
 public:
  void deliver(std::vector<std::unique_ptr<call::Call>> calls) override {
    for (const auto& call : calls) call->finish();
  }
};

class NoService final : public call::Service {
 public:
  void submit(std::unique_ptr<call::Call> call) override { submitted.push_back(std::move(call)); }
  [[nodiscard]] bool ready() const override { return is_ready; }
  bool is_ready = true;
  std::vector<std::unique_ptr<call::Call>> submitted;
};

/// One request as a test writes it.
struct Ask {
  http::Method method = http::Method::post;
  std::string path;
  std::string body;
  std::vector<http::Header> headers = {};
  std::string query = {};
};

class NativeTest : public ::testing::Test {
 protected:
  Prepared prepare(const Ask& ask) {
    const http::Request request{.method = ask.method,
                                .method_text = http::method_name(ask.method),
                                .target = ask.path,
                                .path = ask.path,
                                .query = ask.query,
                                .body = ask.body,
                                .headers = ask.headers};
    return native_.prepare(request, inbox_);
  }

  /// The call that the request makes; a request that makes none is a failure.
  std::unique_ptr<Exchange> call(const Ask& ask) {
    auto prepared = prepare(ask);
    EXPECT_TRUE(prepared.exchange) << ask.path << " " << ask.body << "\n" << prepared.answer.body;
    return std::move(prepared.exchange);
  }
  std::unique_ptr<Exchange> call(std::string path, std::string body) {
    return call({.path = std::move(path), .body = std::move(body)});
  }

  /// The answer once the node has given these replies.
  template <typename... Replies>
  static Answer answer(Exchange& exchange, Replies... replies) {
    exchange.replies.clear();
    (exchange.replies.emplace_back(std::move(replies)), ...);
    Answer out;
    exchange.write_answer(out);
    EXPECT_TRUE(out.body.empty() || base::json::is_valid(out.body)) << out.body;
    return out;
  }

  /// The answer to a request that does not reach the node.
  Answer refused(const Ask& ask) {
    auto prepared = prepare(ask);
    EXPECT_FALSE(prepared.exchange) << ask.path << " " << ask.body;
    EXPECT_TRUE(base::json::is_valid(prepared.answer.body)) << prepared.answer.body;
    return std::move(prepared.answer);
  }

  NoService service_;
  NoInbox inbox_;
  Native native_{service_};
};

/// The text of a string member, or the raw value of another one; empty when there is none.
inline std::string member_of(const Answer& answer, std::string_view name) {
  auto value = base::json::member(answer.body, name).value_or("");
  if (value.size() >= 2 && value.front() == '"') return value.substr(1, value.size() - 2);
  return value;
}

/// A bad request and what it must be told.
struct BadCase {
  std::string body;
  int status;
  std::string code;
  std::string field;
};

inline void expect_problem(const Answer& answer, const BadCase& expected) {
  SCOPED_TRACE(expected.body.substr(0, 200) + "\n" + answer.body);
  EXPECT_EQ(answer.status, expected.status);
  EXPECT_TRUE(answer.problem);
  EXPECT_EQ(member_of(answer, "status"), std::to_string(expected.status));
  EXPECT_EQ(member_of(answer, "code"), expected.code);
  EXPECT_EQ(member_of(answer, "field"), expected.field);
  EXPECT_FALSE(member_of(answer, "detail").empty());
}

}  // namespace jobbie::face
