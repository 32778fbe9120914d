// The face behind a real server: answers from another thread, and clients that go.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "face/native/native_test_support.hpp"

namespace jobbie::face {
namespace {

/// Answers every enqueue from its own thread, and keeps fetches until it is told.
class ScriptedNode final : public call::Service {
 public:
  ScriptedNode() : thread_([this] { run(); }) {}
  ~ScriptedNode() override { stop(); }

  void submit(std::unique_ptr<call::Call> call) override {
    const std::scoped_lock lock(mutex_);
    calls_.push_back(std::move(call));
    changed_.notify_all();
  }
  [[nodiscard]] bool ready() const override { return true; }

  /// The flag of the fetch that waits; it blocks until there is one.
  std::shared_ptr<std::atomic<bool>> waiting() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return fetch_ != nullptr; });
    return fetch_->hung_up;
  }
  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      changed_.wait(lock, [this] { return stopping_ || !calls_.empty(); });
      for (auto& call : std::exchange(calls_, {})) {
        if (std::holds_alternative<command::Claim>(call->commands.at(0))) {
          fetch_ = std::move(call);
          changed_.notify_all();
          continue;
        }
        call->replies.emplace_back(command::Enqueued{.job = job_id(kJobA)});
        give_back(std::move(call));
      }
    }
    if (fetch_) {
      fetch_->trouble = call::Trouble::stopping;
      give_back(std::move(fetch_));
    }
  }
  static void give_back(std::unique_ptr<call::Call> call) {
    auto& inbox = call->inbox();
    std::vector<std::unique_ptr<call::Call>> calls;
    calls.push_back(std::move(call));
    inbox.deliver(std::move(calls));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<call::Call>> calls_;
  std::unique_ptr<call::Call> fetch_;
  bool stopping_ = false;
  std::thread thread_;
};

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  void post(const std::string& path, const std::string& body) const {
    const std::string text =
        "POST " + path + " HTTP/1.1\r\nhost: x\r\ncontent-length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body;
    EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  /// Reads until `mark` has come, or the connection ends.
  [[nodiscard]] std::string read_until(std::string_view mark) const {
    std::string text;
    std::array<char, 4096> part{};
    while (text.find(mark) == std::string::npos) {
      const auto count = ::recv(socket_, part.data(), part.size(), 0);
      if (count <= 0) break;
      text.append(part.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int socket_;
};

class ServedTest : public ::testing::Test {
 protected:
  ServedTest() : server_(*http::Server::listen({}, native_)) { server_->start(); }
  ~ServedTest() override {
    node_.stop();
    server_->stop();
  }

  ScriptedNode node_;
  Native native_{node_};
  std::unique_ptr<http::Server> server_;
};

TEST_F(ServedTest, AnswersFromAnotherThread) {
  const Client client(server_->port());
  for (int i = 0; i < 100; ++i) client.post("/api/v1/enqueue", R"({"queue":"q"})");
  client.post("/api/v1/enqueue", R"({"queue":)");
  const auto text = client.read_until("bad_json");
  EXPECT_TRUE(text.starts_with("HTTP/1.1 201")) << text.substr(0, 300);
  EXPECT_NE(text.find("application/problem+json"), std::string::npos);
  std::size_t answers = 0;
  for (auto at = text.find(kJobA); at != std::string::npos; at = text.find(kJobA, at + 1))
    ++answers;
  EXPECT_EQ(answers, 100U);
}

TEST_F(ServedTest, TellsTheNodeWhenAWaitingClientGoes) {
  Client client(server_->port());
  client.post("/api/v1/fetch", R"({"queues":["q"],"timeout":30})");
  const auto hung_up = node_.waiting();
  ASSERT_TRUE(hung_up);
  EXPECT_FALSE(hung_up->load());
  client.close();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!hung_up->load() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(hung_up->load());
}

TEST_F(ServedTest, AWaitingFetchHearsOfTheStop) {
  const Client client(server_->port());
  client.post("/api/v1/fetch", R"({"queues":["q"],"timeout":30})");
  node_.waiting();
  node_.stop();
  const auto text = client.read_until("stopping");
  EXPECT_TRUE(text.starts_with("HTTP/1.1 503")) << text;
  EXPECT_NE(text.find("retry-after: 1"), std::string::npos) << text;
}

}  // namespace
}  // namespace jobbie::face
