// How many connections there are, in all and from each address. Shared by all loops of a server.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/time.hpp"
#include "http/limits.hpp"

namespace jobbie::http {

class Admission {
 public:
  explicit Admission(const Limits& limits)
      : at_most_(limits.connections), at_most_per_address_(limits.connections_per_address) {}

  enum class Outcome : std::uint8_t { admitted, full, address_full };
  /// Counts a connection, unless there are too many.
  Outcome admit(const std::string& address);
  void release(const std::string& address);
  [[nodiscard]] std::size_t total() const;
  /// Whether the last connection has gone before the time was up.
  bool wait_for_none(base::Duration at_most);

 private:
  const std::size_t at_most_;
  const std::size_t at_most_per_address_;
  mutable std::mutex mutex_;
  std::condition_variable none_;
  std::size_t total_ = 0;
  std::unordered_map<std::string, std::size_t> by_address_;
};

}  // namespace jobbie::http
