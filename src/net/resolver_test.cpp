// Names of hosts: the deadline holds whatever the lookup does.
#include "net/resolver.hpp"

#include <atomic>
#include <future>
#include <memory>
#include <resolv.h>
#include <stdexcept>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "net/test_server.hpp"

namespace jobbie::net {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShort{50};
/// Longer than any test waits.
constexpr milliseconds kLong{60'000};

const Address kHome = *parse_address("127.0.0.1");

/// A lookup that does not answer until it is let go. Shared with threads that outlive the test's
/// body.
struct Held {
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::promise<void> finished;
  std::atomic<int> calls = 0;
};

Lookup held_lookup(const std::shared_ptr<Held>& held) {
  return [held](const std::string&) -> Result<std::vector<Address>> {
    ++held->calls;
    held->released.wait();
    return std::vector{kHome};
  };
}

TEST(Resolver, AnAddressIsItself) {
  const Resolver resolver([](const std::string&) -> Result<std::vector<Address>> {
    ADD_FAILURE() << "nothing is to be looked up";
    return std::vector<Address>{};
  });
  const auto found = resolver.resolve("127.0.0.1", Deadline::in(kLong));
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, std::vector{kHome});
  EXPECT_EQ(to_text(resolver.resolve("::1", Deadline::in(kLong))->front()), "::1");
}

TEST(Resolver, AnswersOfTheLookup) {
  const Resolver resolver([](const std::string& host) -> Result<std::vector<Address>> {
    if (host == "throws") throw std::runtime_error("no");
    if (host == "many") return std::vector<Address>(Resolver::kMaxAddresses + 1, kHome);
    return std::vector<Address>{};
  });
  EXPECT_EQ(resolver.resolve("many", Deadline::in(kLong))->size(), Resolver::kMaxAddresses);
  for (const char* host : {"throws", "empty"})
    EXPECT_EQ(resolver.resolve(host, Deadline::in(kLong)).error().failure, Failure::unknown_host);
}

TEST(Resolver, ALookupThatDoesNotEndIsGivenUp) {
  const auto held = std::make_shared<Held>();
  const Resolver resolver(held_lookup(held));
  EXPECT_EQ(resolver.resolve("slow", Deadline::in(kShort)).error().failure, Failure::timed_out);
  held->release.set_value();
}

TEST(Resolver, MayGoBeforeItsLookups) {
  const auto held = std::make_shared<Held>();
  {
    const Resolver resolver([held](const std::string&) -> Result<std::vector<Address>> {
      held->released.wait();
      held->finished.set_value();
      return std::vector{kHome};
    });
    EXPECT_FALSE(resolver.resolve("slow", Deadline::in(kShort)));
  }
  held->release.set_value();
  held->finished.get_future().wait();
}

TEST(Resolver, AnInterruptEndsTheWaiting) {
  const auto held = std::make_shared<Held>();
  const auto interrupt = std::make_shared<Interrupt>();
  const Resolver resolver([=](const std::string&) -> Result<std::vector<Address>> {
    interrupt->raise();
    held->released.wait();
    return std::vector{kHome};
  });
  EXPECT_EQ(resolver.resolve("slow", Deadline::in(kLong, interrupt.get())).error().failure,
            Failure::interrupted);
  held->release.set_value();
}

TEST(Resolver, NamesBeyondTheThreadsWaitTheirTurn) {
  const auto held = std::make_shared<Held>();
  const Resolver resolver(held_lookup(held));
  const int most = static_cast<int>(Resolver::kMaxLookups);
  for (int i = 0; i < most + 3; ++i)
    EXPECT_EQ(resolver.resolve("slow", Deadline::in(kShort)).error().failure, Failure::timed_out);
  EXPECT_LE(held->calls, most);
  held->release.set_value();
  EXPECT_TRUE(resolver.resolve("late", Deadline::in(kLong)));
  EXPECT_LE(held->calls, most + 1) << "whoever has given up is not looked up any more";
}

// The system's own lookup, with a name server that takes every question and answers none.
TEST(Resolver, ASilentNameServerHoldsNobodyUp) {
  std::uint16_t port = 0;
  const Descriptor server = bind_loopback(SOCK_DGRAM, port);
  const Resolver resolver([port](const std::string& host) {
    res_init();  // of this thread
    _res.nscount = 1;
    _res.nsaddr_list[0] = {};
    _res.nsaddr_list[0].sin_family = AF_INET;
    _res.nsaddr_list[0].sin_port = htons(port);
    _res.nsaddr_list[0].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return system_lookup(host);
  });
  const auto found = resolver.resolve("jobs.jobbie.invalid", Deadline::in(milliseconds(500)));
  char question[512];
  if (::recv(server.get(), question, sizeof question, MSG_DONTWAIT) <= 0)
    GTEST_SKIP() << "this system does not look names up by DNS";
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().failure, Failure::timed_out);
}

}  // namespace
}  // namespace jobbie::net
