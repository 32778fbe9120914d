// What is free on the disk of the data directory, and a file that holds some of it back.
//
// Others may write to the same disk, and take its last byte while the database is still behind the
// log. So a file takes space while there is some; it is removed when the space is needed, and made
// again when there is enough.
#pragma once

#include <cstdint>
#include <string>

namespace jobbie::node {

/// What the file holds back.
inline constexpr std::uint64_t kReserveBytes = std::uint64_t{16} << 20;
/// What must be left, beside the reserve and what the database needs, for work that adds something.
inline constexpr std::uint64_t kLeftByGrowth = std::uint64_t{8} << 20;
/// What must be left for work that ends, moves or removes something; it may use up the reserve.
inline constexpr std::uint64_t kLeftByTheRest = std::uint64_t{2} << 20;

class DiskRoom {
 public:
  explicit DiskRoom(const std::string& data_dir);

  /// Looks at the disk anew.
  void look();
  /// What may be written, as of the latest look, the reserve included.
  [[nodiscard]] std::uint64_t left() const { return free_ + held_; }
  /// The same without the reserve.
  [[nodiscard]] std::uint64_t free() const { return free_; }

  /// Lets the reserve go; whether there was any.
  bool release();
  /// Makes the reserve if there is space for it and as much again beside `needed`. Gives up in
  /// silence: the next time there may be.
  bool restore(std::uint64_t needed);

 private:
  std::string directory_;
  std::string path_;
  std::uint64_t free_ = 0;
  std::uint64_t held_ = 0;
};

}  // namespace jobbie::node
