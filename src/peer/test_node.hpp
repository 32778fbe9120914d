// For tests: a transport whose handler remembers everything, folders that go away, a journal that
// can be read.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "peer/transport.hpp"

namespace jobbie::peer {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "peer_test_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] std::string path(const std::string& name = "") const {
    return name.empty() ? path_ : path_ + "/" + name;
  }
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::string path_;
};

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class TestJournal {
 public:
  TestJournal() : fd_(memfd_create("journal", 0)), journal_(fd_, base::Level::debug) {}
  ~TestJournal() { ::close(fd_); }
  TestJournal(const TestJournal&) = delete;
  TestJournal& operator=(const TestJournal&) = delete;
  base::Journal* get() { return &journal_; }
  [[nodiscard]] std::string text() const {
    return contents("/proc/self/fd/" + std::to_string(fd_));
  }
  /// Waits until it has been written.
  [[nodiscard]] bool wait(const std::string& what) const {
    for (int i = 0; i < 4000 && count(what) == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return count(what) > 0;
  }
  [[nodiscard]] std::size_t count(const std::string& what) const {
    const std::string all = text();
    std::size_t found = 0;
    for (auto at = all.find(what); at != std::string::npos; at = all.find(what, at + 1)) ++found;
    return found;
  }

 private:
  int fd_;
  base::Journal journal_;
};

/// Fast enough for tests, and slow enough for a busy machine.
inline Limits quick_limits() {
  Limits limits;
  limits.ping_time = {50};
  limits.idle_time = {1'000};
  limits.handshake_time = {1'000};
  limits.shortest_backoff = {5};
  limits.longest_backoff = {50};
  limits.stall_time = {1'500};
  return limits;
}

inline Options test_options(std::uint64_t node, std::string secret = "a good secret") {
  return {.listen = "127.0.0.1:0",
          .self = {.cluster_id = 7,
                   .node_id = node,
                   .name = "node-" + std::to_string(node),
                   .address = "127.0.0.1:1",
                   .http = "127.0.0.1:2",
                   .has_log = true,
                   .size = 3},
          .secret = std::move(secret),
          .limits = quick_limits()};
}

class TestNode : public Handler {
 public:
  struct Got {
    std::uint64_t from = 0;
    std::uint8_t kind = 0;
    std::string bytes;
  };
  struct Seen {
    std::vector<Hello> hellos;
    std::vector<Got> frames;
    std::vector<std::int64_t> connections;  ///< node when connected, -node when lost
    std::vector<Incoming> snapshots;
    std::vector<base::Result<void>> sent;
  };

  explicit TestNode(Options options) {
    auto opened = Transport::open(std::move(options), *this);
    EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().message);
    if (opened) transport = std::move(*opened);
  }
  ~TestNode() override { transport.reset(); }
  TestNode(const TestNode&) = delete;
  TestNode& operator=(const TestNode&) = delete;

  [[nodiscard]] std::string address() const {
    return "127.0.0.1:" + std::to_string(transport->port());
  }

  void on_hello(const Hello& hello) override {
    note([&] { seen_.hellos.push_back(hello); });
  }
  void on_frame(std::uint64_t from, std::uint8_t kind, std::string bytes) override {
    note([&] { seen_.frames.push_back({.from = from, .kind = kind, .bytes = std::move(bytes)}); });
  }
  void on_connected(std::uint64_t node) override {
    note([&] { seen_.connections.push_back(static_cast<std::int64_t>(node)); });
  }
  void on_lost(std::uint64_t node) override {
    note([&] { seen_.connections.push_back(-static_cast<std::int64_t>(node)); });
  }
  void on_snapshot(Incoming snapshot) override {
    note([&] { seen_.snapshots.push_back(std::move(snapshot)); });
  }
  void send_snapshot(std::uint64_t node, const std::string& path) {
    transport->send_snapshot(node, "header", path, [this](base::Result<void> result) {
      note([&] { seen_.sent.push_back(std::move(result)); });
    });
  }

  /// Waits until `condition(seen)`; false if it does not come about.
  template <typename Condition>
  [[nodiscard]] bool wait(Condition condition, std::int64_t most_ms = 20'000) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(most_ms),
                             [&] { return condition(std::as_const(seen_)); });
  }
  [[nodiscard]] bool wait_connected(std::uint64_t node) {
    return wait([&](const Seen& seen) {
      for (auto each = seen.connections.rbegin(); each != seen.connections.rend(); ++each)
        if (static_cast<std::uint64_t>(*each < 0 ? -*each : *each) == node) return *each > 0;
      return false;
    });
  }
  [[nodiscard]] bool wait_frames(std::size_t count) {
    return wait([&](const Seen& seen) { return seen.frames.size() >= count; });
  }
  /// Waits until a line of status() fulfils the condition.
  template <typename Condition>
  [[nodiscard]] bool wait_status(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      for (const auto& status : transport->status())
        if (condition(status)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }
  [[nodiscard]] Seen seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

  std::unique_ptr<Transport> transport;

 private:
  template <typename Change>
  void note(Change change) {
    {
      const std::lock_guard lock(mutex_);
      change();
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Seen seen_;
};

inline std::string random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

}  // namespace jobbie::peer
