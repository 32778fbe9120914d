// The bounded queue between the threads of the faces and the node's own.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "call/call.hpp"

namespace jobbie::node {

/// What the bytes of a call's commands come to, about: texts and payloads, and a little for each.
[[nodiscard]] std::size_t approximate_bytes(const call::Call& call);

/// Any thread pushes, one thread takes. Full means refused, never growth.
class Intake {
 public:
  struct Item {
    std::unique_ptr<call::Call> call;
    std::size_t bytes = 0;
  };
  struct Bounds {
    std::size_t calls = 0;
    std::size_t bytes = 0;
  };

  explicit Intake(Bounds bounds) : bounds_(bounds) {}

  /// Takes the call, or leaves it where it is and says no. One call is taken however large it is.
  /// A take() that waits goes on waiting until flush().
  [[nodiscard]] bool push(std::unique_ptr<call::Call>& call);
  /// Ends a take() that waits, if there is anything to take.
  void flush();

  /// Moves everything that is there into `into`, which is cleared first; waits up to `patience_us`
  /// for a call and its flush(), or for a wake().
  void take(std::vector<Item>& into, std::int64_t patience_us);

  /// Ends a take() that waits.
  void wake();

 private:
  const Bounds bounds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Item> items_;
  std::size_t bytes_ = 0;
  bool waiting_ = false;
  bool woken_ = false;
};

}  // namespace jobbie::node
