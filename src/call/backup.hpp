// Copies of the database for whoever keeps backups.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/digest.hpp"

namespace jobbie::call {

/// Asks for a copy of the database with everything that was acknowledged before. It takes as long
/// as the database is large; one is made at a time.
struct BackupQuery {};

/// A finished copy in a file that has no name any more.
struct Backup {
  int descriptor = -1;
  std::uint64_t bytes = 0;
  std::uint64_t applied_index = 0;
  base::Sha256 sha256{};
  std::shared_ptr<const void> owner;  ///< the file is gone with the last who holds it
};

struct BackupAnswer {
  enum class Outcome : std::uint8_t {
    made,
    running,   ///< another one is being made, or sent
    outpaced,  ///< too much was written meanwhile
    no_room,   ///< the disk has no space for it
  };
  Outcome outcome = Outcome::made;
  Backup backup;
  std::string detail{};  ///< of `no_room`: the figures
};

}  // namespace jobbie::call
