// A producer or a worker: a connection, its dialect and what it waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "bench/load/connection.hpp"
#include "bench/load/dialect.hpp"
#include "bench/load/options.hpp"

namespace jobbie::bench::load {

/// One thread. At most one request is under way; `done` jobs of the last fetch are its `jobs`.
class Client {
 public:
  enum class Role : std::uint8_t { producer, worker };
  enum class Progress : std::uint8_t { waiting, complete, refused, failed };

  [[nodiscard]] static std::expected<Client, std::string> open(const Options& options, Role role,
                                                               std::size_t number);

  // Each starts a request. The answer may be complete at once, where the protocol sends none.
  [[nodiscard]] Progress greet();
  [[nodiscard]] Progress put(std::uint64_t stamp_ns);
  [[nodiscard]] Progress take(Take what);
  [[nodiscard]] Progress finish();
  [[nodiscard]] Progress finish_and_take(Take what);

  /// The socket is readable. `refused` leaves the jobs held as they were before the request.
  [[nodiscard]] Progress readable();
  [[nodiscard]] bool flush() { return connection_.flush(); }
  [[nodiscard]] bool all_sent() const { return connection_.all_sent(); }

  [[nodiscard]] Role role() const { return role_; }
  [[nodiscard]] Step step() const { return step_; }
  [[nodiscard]] int fd() const { return connection_.fd(); }
  [[nodiscard]] bool under_way() const { return awaited_ > 0; }
  [[nodiscard]] const TakenList& jobs() const { return jobs_; }
  /// Jobs that the request under way acks, or the complete one has acked.
  [[nodiscard]] std::size_t acking() const { return acking_; }
  /// The beginning of an answer that was not understood.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  Client(Connection connection, std::unique_ptr<Dialect> dialect, Role role);
  Progress start(Step step, std::size_t answers, std::size_t acking);
  Progress complete();

  Connection connection_;
  std::unique_ptr<Dialect> dialect_;
  Role role_;
  Step step_ = Step::hello;
  std::size_t awaited_ = 0;
  std::size_t acking_ = 0;
  bool refused_ = false;
  TakenList jobs_;
  TakenList fresh_;  ///< those of the answer under way
  std::string failure_;
};

}  // namespace jobbie::bench::load
