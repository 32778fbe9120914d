// How many small requests one thread of the HTTP server answers, one by one and pipelined.
//
// Server and client are two threads of this program over loopback. The rate of one core is requests
// by the processor time of the server's thread: it stays comparable while other programs, or the
// client, take part of the machine.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <future>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/check.hpp"
#include "bench/clock.hpp"
#include "http/problem.hpp"
#include "http/server.hpp"

namespace jobbie::bench {
namespace {

constexpr std::size_t kBodyBytes = 200;
constexpr double kWarmUp_s = 0.3;

/// Answers at once, or from another task of the loop as a node's answers come.
class Echo final : public http::Handler {
 public:
  explicit Echo(bool later) : later_(later) {}

  void handle(const http::Request& request, http::Responder responder) override {
    JOBBIE_CHECK(request.body.size() == kBodyBytes);
    if (!later_) {
      responder.send(201, http::kJsonType, kAnswer);
      return;
    }
    http::Loop& loop = responder.loop();
    loop.post(
        [kept = std::move(responder)]() mutable { kept.send(201, http::kJsonType, kAnswer); });
  }

 private:
  static constexpr std::string_view kAnswer =
      R"({"job_id":"job_01JD0000000000000000000000","status":"pending","unique_existing":false})";
  const bool later_;
};

double thread_cpu_s(http::Loop& loop) {
  std::promise<double> cpu;
  loop.post([&cpu] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    cpu.set_value(static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9);
  });
  return cpu.get_future().get();
}

/// Keeps `depth` requests in flight on each connection and counts answers by their bytes: all have
/// the same length.
class Client {
 public:
  Client(std::uint16_t port, int connections, int depth) : depth_(depth) {
    const std::string request = fmt::format(
        "POST /api/v1/queues/emails/jobs HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n"
        "User-Agent: bench\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        port, kBodyBytes, std::string(kBodyBytes, 'x'));
    for (int i = 0; i < depth; ++i) batch_ += request;
    epoll_ = epoll_create1(0);
    for (int i = 0; i < connections; ++i) connect_one(port);
    buffer_.resize(std::size_t{1024} * 1024);
  }
  ~Client() {
    for (const Peer& peer : peers_) ::close(peer.descriptor);
    ::close(epoll_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Runs for that long and gives the number of answers.
  std::uint64_t run(double seconds) {
    if (answer_bytes_ == 0) learn_answer();
    std::uint64_t answers = 0;
    const auto begin = Clock::now();
    std::array<epoll_event, 256> events{};
    while (seconds_since(begin) < seconds) {
      const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 100);
      for (int i = 0; i < ready; ++i)
        answers += read_one(peers_[events[static_cast<std::size_t>(i)].data.u32]);
    }
    return answers;
  }

 private:
  struct Peer {
    int descriptor = -1;
    std::size_t expected_bytes = 0;
  };

  void connect_one(std::uint16_t port) {
    Peer peer{.descriptor = ::socket(AF_INET, SOCK_STREAM, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    JOBBIE_CHECK(::connect(peer.descriptor, reinterpret_cast<const sockaddr*>(&address),
                           sizeof address) == 0);
    const int on = 1;
    setsockopt(peer.descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{.events = EPOLLIN,
                      .data = {.u32 = static_cast<std::uint32_t>(peers_.size())}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, peer.descriptor, &event);
    peers_.push_back(peer);
  }

  /// One request on the first connection tells how long an answer is; then all begin.
  void learn_answer() {
    const std::size_t one = batch_.size() / static_cast<std::size_t>(depth_);
    JOBBIE_CHECK(::send(peers_[0].descriptor, batch_.data(), one, 0) == static_cast<long>(one));
    const long count = ::recv(peers_[0].descriptor, buffer_.data(), buffer_.size(), 0);
    JOBBIE_CHECK(count > 0 && std::string_view(buffer_.data(), 12) == "HTTP/1.1 201");
    answer_bytes_ = static_cast<std::size_t>(count);
    for (Peer& peer : peers_) send_batch(peer);
  }

  void send_batch(Peer& peer) {
    JOBBIE_CHECK(::send(peer.descriptor, batch_.data(), batch_.size(), MSG_NOSIGNAL) ==
                 static_cast<long>(batch_.size()));
    peer.expected_bytes = answer_bytes_ * static_cast<std::size_t>(depth_);
  }

  std::uint64_t read_one(Peer& peer) {
    const long count = ::recv(peer.descriptor, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    JOBBIE_CHECK(count > 0 && static_cast<std::size_t>(count) <= peer.expected_bytes);
    peer.expected_bytes -= static_cast<std::size_t>(count);
    if (peer.expected_bytes > 0) return 0;
    send_batch(peer);
    return static_cast<std::uint64_t>(depth_);
  }

  const int depth_;
  int epoll_ = -1;
  std::string batch_;
  std::vector<char> buffer_;
  std::vector<Peer> peers_;
  std::size_t answer_bytes_ = 0;
};

struct Case {
  int connections;
  int depth;
  bool later;
};

void measure(const Case& what, double seconds) {
  Echo handler(what.later);
  auto server = http::Server::listen({}, handler);
  JOBBIE_CHECK(server.has_value());
  (*server)->start();
  http::Loop& loop = (*server)->loop(0);
  Client client((*server)->port(), what.connections, what.depth);
  client.run(kWarmUp_s);
  const double cpu_before = thread_cpu_s(loop);
  const auto begin = Clock::now();
  const std::uint64_t answers = client.run(seconds);
  const double wall = seconds_since(begin);
  const double cpu = thread_cpu_s(loop) - cpu_before;
  fmt::print("{:>11} {:>9} {:>8} {:>12.0f} {:>12.0f} {:>6.0f} %\n", what.connections, what.depth,
             what.later ? "later" : "at once", static_cast<double>(answers) / cpu,
             static_cast<double>(answers) / wall, 100 * cpu / wall);
  std::fflush(stdout);
  (*server)->stop();
}

}  // namespace
}  // namespace jobbie::bench

int main(int count, char** arguments) {
  double seconds = 3;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--quick") {
      seconds = 0.2;
    } else if (argument == "--seconds" && i + 1 < count) {
      seconds = std::atof(arguments[++i]);
    } else {
      fmt::print(stderr, "usage: bench_http [--quick] [--seconds N]\n");
      return 2;
    }
  }
  fmt::print("POST of 200 bytes, answer of 82, one server thread\n");
  fmt::print("connections pipelined  answers    /s of core  /s by clock    core\n");
  using jobbie::bench::Case;
  for (const Case& what : {Case{1, 1, false}, Case{64, 1, false}, Case{64, 1, true},
                           Case{64, 16, false}, Case{64, 16, true}})
    jobbie::bench::measure(what, seconds);
  return 0;
}
