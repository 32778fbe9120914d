// Where the other nodes are: a name is resolved again and again, because what it stands for
// changes.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace jobbie::node {

class Discovery {
 public:
  /// `name` is HOST:PORT; a thread of its own resolves it.
  explicit Discovery(std::string name);
  ~Discovery();
  /// Addresses that were found last.
  [[nodiscard]] std::vector<std::string> addresses() const;

 private:
  void run();
  [[nodiscard]] std::vector<std::string> resolve() const;

  std::string host_;
  std::string port_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> found_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace jobbie::node
