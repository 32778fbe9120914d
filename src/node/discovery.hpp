// Where the other nodes are: a name is resolved again and again, because what it stands for
// changes.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/journal.hpp"

namespace jobbie::node {

class Discovery {
 public:
  /// `name` is HOST:PORT; a thread of its own resolves it. Nodes that listen for IPv4 alone must
  /// not wait for somebody at the other addresses of the name. `journal`: null, or outlives this.
  Discovery(const std::string& name, bool only_ipv4, base::Journal* journal);
  ~Discovery();
  /// Addresses that were found last.
  [[nodiscard]] std::vector<std::string> addresses() const;

 private:
  void run();
  [[nodiscard]] std::vector<std::string> resolve(std::string& trouble) const;
  void tell(const std::vector<std::string>& found, const std::string& trouble);

  std::string host_;
  std::string port_;
  const bool only_ipv4_;
  base::Journal* const journal_;
  std::string told_;  ///< what the journal last said of the name; of the thread alone
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> found_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace jobbie::node
