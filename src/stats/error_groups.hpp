// Failures that are alike, told by their text without what differs from one to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/blob.hpp"
#include "base/id.hpp"
#include "base/time.hpp"

namespace jobbie::stats {

inline constexpr std::size_t kMaxErrorGroups = 1'000;
inline constexpr std::size_t kSampleJobs = 10;

struct Failed {
  base::JobId job;
  base::Blob queue;
  bool dead = false;  ///< else it waits for another try
  base::Blob error;
  base::Instant at;
};

struct ErrorGroup {
  std::uint64_t fingerprint = 0;
  base::Blob queue;
  std::string pattern;  ///< the normalised text
  base::Blob error;     ///< the latest one as it was
  std::uint64_t dead = 0;
  std::uint64_t retrying = 0;
  base::Instant first_seen;
  base::Instant last_seen;
  std::vector<base::JobId> jobs;           ///< the latest kSampleJobs, newest first
  std::vector<base::Instant> jobs_failed;  ///< when each of these did
};

struct ErrorGroups {
  std::vector<ErrorGroup> groups;  ///< largest first
  std::uint64_t examined = 0;
  bool complete = true;  ///< every failed job was looked at, and every group is here
};

class ErrorGrouping {
 public:
  void add(const Failed& failed);
  /// `all_seen`: nothing was left out before it came here.
  [[nodiscard]] ErrorGroups finish(bool all_seen);

 private:
  std::map<std::pair<std::string, std::string>, ErrorGroup> groups_;  ///< (queue, pattern)
  std::uint64_t examined_ = 0;
  bool complete_ = true;
};

}  // namespace jobbie::stats
