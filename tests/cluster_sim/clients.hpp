// The clients: each a small state machine that calls some node and goes by what it is told.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/blob.hpp"
#include "tests/cluster_sim/history.hpp"
#include "tests/cluster_sim/scheduler.hpp"

namespace jobbie::cluster_sim {

class World;

/// What jobs, queues and workers ask for stays below these.
inline constexpr std::int64_t kLongestLeaseUs = seconds(20);
inline constexpr std::int64_t kLongestBackoffUs = seconds(20);

inline base::Blob blob(const std::string& text) { return base::Blob(text); }

class Client {
 public:
  Client(World& world, std::uint32_t number) : world_(world), number_(number) {}
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  virtual void begin() = 0;
  virtual void answered(Op& op) = 0;

 protected:
  World& world_;
  std::uint32_t number_;
};

/// Enqueues, one by one and in batches, with and without keys; repeats what has a key.
std::unique_ptr<Client> make_producer(World& world, std::uint32_t number);
/// Claims, heartbeats, acks and fails; dies, hangs and answers late.
std::unique_ptr<Client> make_worker(World& world, std::uint32_t number);
/// Pauses, limits, schedules, moves and deletes; undoes it all when everything heals.
std::unique_ptr<Client> make_manager(World& world, std::uint32_t number);
/// Reads through any node, and minds that it sees what was there before.
std::unique_ptr<Client> make_reader(World& world, std::uint32_t number);

}  // namespace jobbie::cluster_sim
