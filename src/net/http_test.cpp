// HTTP as a client speaks it, with servers that keep to it and servers that do not.
#include "net/http.hpp"

#include <csignal>

#include <gtest/gtest.h>

#include "net/dialer.hpp"
#include "net/test_server.hpp"

namespace jobbie::net {
namespace {

using std::chrono::milliseconds;

Deadline patient() { return Deadline::in(milliseconds(60'000)); }

HttpConnection dial(const TestServer& server, HttpLimits limits = {}) {
  Dialer dialer({});
  auto connected = dialer.connect(loopback_url(server.port()), patient());
  EXPECT_TRUE(connected);
  return HttpConnection(std::move(*connected), limits);
}

/// Reads a request, says this, and ends.
TestServer::Talk answers(std::string text) {
  return [text](int socket) {
    TestServer::read_request(socket);
    TestServer::say(socket, text);
  };
}

Result<HttpResponse> ask(HttpConnection& connection, const HttpRequest& request = {}) {
  if (auto sent = connection.send(request, patient()); !sent) return std::unexpected(sent.error());
  auto response = connection.read_head(patient());
  if (!response) return response;
  if (auto body = connection.read_body(*response, patient()); !body)
    return std::unexpected(body.error());
  return response;
}

Failure failure_of(const std::string& answer, HttpLimits limits = {}) {
  const TestServer server(answers(answer));
  auto connection = dial(server, limits);
  const auto response = ask(connection);
  EXPECT_FALSE(response) << answer.substr(0, 80);
  return response ? Failure::no_resources : response.error().failure;
}

TEST(Http, RequestsAsBytes) {
  EXPECT_EQ(
      *to_bytes(
          {.method = "POST", .target = "/a?b", .host = "x", .headers = {{"K", "v"}}, .body = "12"}),
      "POST /a?b HTTP/1.1\r\nHost: x\r\nK: v\r\nContent-Length: 2\r\n\r\n12");
  EXPECT_EQ(*to_bytes({.host = "x"}), "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(to_bytes({.host = "x", .headers = {{"K", "v\r\nEvil: 1"}}}).error().failure,
            Failure::bad_request);
  EXPECT_EQ(to_bytes({.target = "/\n", .host = "x"}).error().failure, Failure::bad_request);
}

TEST(Http, SeveralExchangesOnOneConnection) {
  const TestServer server([](int socket) {
    TestServer::read_request(socket);
    TestServer::say(socket,
                    "HTTP/1.1 100 Continue\r\n\r\n"
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n");
    TestServer::read_request(socket);
    TestServer::say(socket, "HTTP/1.1 201 Created\r\nX-Name:  v \r\nContent-Length: 2\r\n\r\nok");
    TestServer::read_request(socket);
  });
  auto connection = dial(server);
  auto first = ask(connection);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->status, 200);
  EXPECT_EQ(first->body, "abcde");
  EXPECT_TRUE(connection.is_reusable());
  const auto second = ask(connection, {.method = "POST", .body = "payload"});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->status, 201);
  EXPECT_EQ(second->header("x-name"), "v");
  EXPECT_EQ(second->body, "ok");
  EXPECT_TRUE(connection.is_reusable());
}

TEST(Http, ARedirectIsAnAnswerLikeAnyOther) {
  const TestServer server(
      answers("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"));
  auto connection = dial(server);
  const auto response = ask(connection);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 302);
  EXPECT_EQ(response->header("location"), "http://127.0.0.1:1/");
}

TEST(Http, ABodyUntilTheEnd) {
  const TestServer server(answers("HTTP/1.0 200 OK\r\n\r\nall of it"));
  auto connection = dial(server);
  const auto response = ask(connection);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "all of it");
  EXPECT_FALSE(connection.is_reusable());
}

TEST(Http, APeerThatClosesEarlyIsAnError) {
  for (const char* text :
       {"", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"})
    EXPECT_EQ(failure_of(text), Failure::closed) << text;
}

// A write to a connection that the peer has reset raises SIGPIPE, which ends a process, unless the
// writer prevents it.
TEST(Http, APeerThatIsGoneIsNoSignal) {
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  const TestServer server([](int socket) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  });
  auto connection = dial(server);
  const std::string body(std::size_t{1} << 20, 'x');
  // The first may be taken by the system still; those that follow cannot be.
  auto sent = connection.send({.method = "POST", .body = body}, patient());
  for (int i = 0; i < 64 && sent; ++i)
    sent = connection.send({.method = "POST", .body = body}, patient());
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().failure, Failure::broken);
  EXPECT_FALSE(connection.send({.method = "POST", .body = body}, patient()));
  std::signal(SIGPIPE, before);
}

TEST(Http, AnswersThatCannotBeRead) {
  EXPECT_EQ(failure_of("SSH-2.0-OpenSSH_9.2\r\n\r\n"), Failure::not_http);
  EXPECT_EQ(failure_of("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), Failure::malformed);
  EXPECT_EQ(failure_of("HTTP/1.1 101 Switching Protocols\r\n\r\n"), Failure::malformed);
  EXPECT_EQ(failure_of("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
            Failure::malformed);
  EXPECT_EQ(failure_of("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), Failure::malformed);
  EXPECT_EQ(failure_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"), Failure::malformed);
  EXPECT_EQ(failure_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
            Failure::malformed);
}

TEST(Http, AnswersThatAreTooLarge) {
  const HttpLimits limits{.head_bytes = 100, .body_bytes = 10};
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  EXPECT_EQ(failure_of(ok + "X: " + std::string(200, 'x') + "\r\n\r\n", limits),
            Failure::too_large);
  EXPECT_EQ(failure_of(ok + "Content-Length: 11\r\n\r\n", limits), Failure::too_large);
  EXPECT_EQ(failure_of(ok + "Transfer-Encoding: chunked\r\n\r\nb\r\n", limits), Failure::too_large);
  EXPECT_EQ(failure_of(ok + "\r\n" + std::string(11, 'x'), limits), Failure::too_large);
  std::string announcements;
  for (int i = 0; i < 10; ++i) announcements += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(failure_of(announcements + ok + "\r\n", limits), Failure::too_large);
}

TEST(Http, AServerThatSaysNothing) {
  const TestServer server([](int socket) {
    TestServer::read_request(socket);
    TestServer::read_request(socket);  // until the client ends
  });
  auto connection = dial(server);
  ASSERT_TRUE(connection.send({}, patient()));
  EXPECT_EQ(connection.read_head(Deadline::in(milliseconds(50))).error().failure,
            Failure::timed_out);
  const Interrupt interrupt;
  interrupt.raise();
  EXPECT_EQ(connection.read_head(Deadline::in(milliseconds(60'000), &interrupt)).error().failure,
            Failure::interrupted);
}

}  // namespace
}  // namespace jobbie::net
