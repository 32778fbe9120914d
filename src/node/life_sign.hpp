// The last moment at which somebody led, as the file `alive` in the data directory has it.
//
// It is written ten times a second and never synced: a process that is killed leaves it behind, and
// after a power loss the last entry of the log says nearly the same. Within one run of the machine
// it tells exactly how much time has passed since, whatever became of the wall clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.hpp"

namespace jobbie::node {

struct LifeSign {
  std::string boot;  ///< Clock::boot(); empty: not known
  std::int64_t steady_us = 0;
  std::int64_t wall_us = 0;
  base::Instant log;
};

class LifeSignFile {
 public:
  explicit LifeSignFile(const std::string& data_dir) : path_(data_dir + "/alive") {}
  ~LifeSignFile();
  LifeSignFile(const LifeSignFile&) = delete;
  LifeSignFile& operator=(const LifeSignFile&) = delete;

  /// Nothing: there is none, or it cannot be read. Of one that an older version has left, the wall
  /// clock alone is known.
  [[nodiscard]] std::optional<LifeSign> read() const;
  /// What cannot be written is not: nothing depends on it but how well lost time is known.
  void write(const LifeSign& sign);

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace jobbie::node
