// From a URL to a connection: checks, several addresses, and handshakes that fail.
#include "net/dialer.hpp"

#include <atomic>
#include <cerrno>

#include <gtest/gtest.h>

#include "net/test_server.hpp"

namespace jobbie::net {
namespace {

using std::chrono::milliseconds;

/// Longer than any test waits.
Deadline patient() { return Deadline::in(milliseconds(60'000)); }

Lookup gives(std::vector<Address> addresses) {
  return [addresses](const std::string&) -> Result<std::vector<Address>> { return addresses; };
}

const Address kHome = *parse_address("127.0.0.1");
const Address kNobody = *parse_address("127.0.0.2");

base::Url named(std::uint16_t port) {
  auto url = loopback_url(port);
  url.host = "jobs.example";
  return url;
}

/// Whether somebody has connected.
bool has_visitor(const Descriptor& listener) {
  return Descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK)).is_open();
}

Descriptor listen_quietly(std::uint16_t& port) {
  Descriptor listener = bind_loopback(SOCK_STREAM, port);
  timeval brief{.tv_sec = 0, .tv_usec = 1};
  ::setsockopt(listener.get(), SOL_SOCKET, SO_RCVTIMEO, &brief, sizeof brief);
  return listener;
}

TEST(Address, TextAndBack) {
  for (const char* text : {"192.0.2.1", "2001:db8::1", "::1"})
    EXPECT_EQ(to_text(*parse_address(text)), text);
  EXPECT_TRUE(parse_address("::ffff:192.0.2.1")->is_v4());
  EXPECT_FALSE(parse_address("::1")->is_v4());
  for (const char* text : {"", "1.2.3", "localhost", "1.2.3.4 "}) EXPECT_FALSE(parse_address(text));
}

TEST(Dialer, ARefusedAddressRefusesTheHost) {
  std::uint16_t port = 0;
  const Descriptor listener = listen_quietly(port);
  const auto check = [](std::string_view host, const Address& address) -> Result<void> {
    EXPECT_EQ(host, "jobs.example");
    if (address != kNobody) return {};
    return std::unexpected(Error{.failure = Failure::address_refused, .message = "not there"});
  };
  Dialer dialer({.tls = {}, .check = check, .lookup = gives({kHome, kNobody})});
  EXPECT_EQ(dialer.connect(named(port), patient()).error().failure, Failure::address_refused);
  EXPECT_FALSE(has_visitor(listener)) << "all addresses are checked before the first is tried";
}

TEST(Dialer, ConnectsToWhatWasChecked) {
  std::uint16_t port = 0;
  const Descriptor listener = listen_quietly(port);
  std::atomic<int> lookups = 0;
  // A name whose second answer is another than the one that was checked.
  const auto lookup = [&lookups](const std::string&) -> Result<std::vector<Address>> {
    return std::vector{++lookups == 1 ? kHome : kNobody};
  };
  const auto check = [](std::string_view, const Address& address) -> Result<void> {
    EXPECT_EQ(address, kHome);
    return {};
  };
  Dialer dialer({.tls = {}, .check = check, .lookup = lookup});
  EXPECT_TRUE(dialer.connect(named(port), patient()));
  EXPECT_TRUE(has_visitor(listener));
  EXPECT_EQ(lookups, 1);
}

TEST(Dialer, TriesTheNextAddress) {
  std::uint16_t port = 0;
  const Descriptor listener = listen_quietly(port);
  Dialer dialer({.tls = {}, .check = {}, .lookup = gives({kNobody, kHome})});
  EXPECT_TRUE(dialer.connect(named(port), patient()));
  EXPECT_TRUE(has_visitor(listener));
  Dialer nowhere({.tls = {}, .check = {}, .lookup = gives({kNobody})});
  EXPECT_EQ(nowhere.connect(named(port), patient()).error().failure, Failure::connect_failed);
}

TEST(Dialer, AnInterruptThatWasRaisedBefore) {
  const Interrupt interrupt;
  interrupt.raise();
  Dialer dialer({});
  const auto deadline = Deadline::in(milliseconds(60'000), &interrupt);
  EXPECT_EQ(dialer.connect(loopback_url(1), deadline).error().failure, Failure::interrupted);
}

TEST(Dialer, HandshakesThatFail) {
  const TestServer plain([](int socket) {
    TestServer::say(socket, "HTTP/1.1 400 Bad Request\r\n\r\n");
    TestServer::read_request(socket);
  });
  const TestServer closes([](int socket) {
    char first = 0;
    EXPECT_EQ(::recv(socket, &first, 1, 0), 1);
  });
  Dialer dialer({.tls = {.ca_file = {}, .insecure = true}, .check = {}});
  EXPECT_EQ(dialer.connect(loopback_url(plain.port(), true), patient()).error().failure,
            Failure::not_tls);
  EXPECT_EQ(dialer.connect(loopback_url(closes.port(), true), patient()).error().failure,
            Failure::handshake_failed);
  // Takes the connection and says nothing.
  std::uint16_t port = 0;
  const Descriptor silent = bind_loopback(SOCK_STREAM, port);
  const auto brief = Deadline::in(milliseconds(50));
  EXPECT_EQ(dialer.connect(loopback_url(port, true), brief).error().failure, Failure::timed_out);
}

TEST(Dialer, AFileWithoutCertificates) {
  Dialer dialer({.tls = {.ca_file = "/dev/null", .insecure = false}, .check = {}});
  EXPECT_EQ(dialer.load_trust().error().failure, Failure::bad_ca_file);
}

}  // namespace
}  // namespace jobbie::net
