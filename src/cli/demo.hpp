// A workload that looks like a small company: several queues, workers that are slow or fail at
// times, progress, a schedule.
#pragma once

#include <memory>

#include "client/client.hpp"

namespace jobbie::cli {

/// Runs from construction to destruction in threads of its own.
class Demo {
 public:
  explicit Demo(client::Client& client);
  ~Demo();
  Demo(const Demo&) = delete;
  Demo& operator=(const Demo&) = delete;

 private:
  struct Cast;
  std::unique_ptr<Cast> cast_;
};

}  // namespace jobbie::cli
