// What a seed is like: how large its cluster is, how busy its clients, which faults it favours.
#pragma once

#include <array>
#include <cstdint>

#include "tests/cluster_sim/scheduler.hpp"
#include "tests/sim/rng.hpp"

namespace jobbie::cluster_sim {

using sim::Rng;

/// Times in microseconds, shares in percent, weights of faults against one another.
struct Personality {
  std::uint32_t founders = 3;
  std::uint32_t producers = 2;
  std::uint32_t workers = 2;
  std::int64_t pace = seconds(1);  ///< of each client, about
  std::int64_t job_lease = seconds(10);
  std::uint32_t managers = 1;

  std::uint32_t drop = 0;  ///< permille of messages
  std::uint32_t twice = 0;
  bool in_order = true;  ///< of each link, as in the product
  std::int64_t link_delay = milliseconds(1);

  std::int64_t checkpoint_every = seconds(10);
  std::uint64_t trailing = 50;  ///< entries that stay in the log behind a checkpoint
  std::uint64_t segment_bytes = 128u << 10;

  std::int64_t fault_every = seconds(10);
  std::uint32_t kill = 1;
  std::uint32_t power_loss = 1;
  std::uint32_t blackout = 1;
  std::uint32_t disk_error = 1;
  std::uint32_t full_disk = 1;
  std::uint32_t slow_disk = 1;
  std::uint32_t pause = 1;
  std::uint32_t partition = 1;
  std::uint32_t one_way = 1;
  std::uint32_t bridge = 1;
  std::uint32_t slow_link = 1;
  std::uint32_t clock_jump = 1;
  std::int64_t member_change_every = seconds(30);  ///< 0: never
};

inline Personality draw_personality(Rng& rng) {
  Personality p;
  const auto weight = [&] {
    return static_cast<std::uint32_t>(rng.percent(40) ? 0 : rng.below(5));
  };
  constexpr std::array<std::uint32_t, 7> sizes = {1, 3, 3, 3, 3, 5, 5};
  p.founders = rng.pick(sizes);
  p.producers = 1 + static_cast<std::uint32_t>(rng.below(3));
  p.workers = 1 + static_cast<std::uint32_t>(rng.below(4));
  p.pace = milliseconds(rng.between(200, 3000));
  p.job_lease = seconds(rng.between(4, 20));
  if (rng.percent(50)) p.drop = static_cast<std::uint32_t>(rng.below(60));
  if (rng.percent(50)) p.twice = static_cast<std::uint32_t>(rng.below(60));
  p.in_order = rng.percent(60);
  p.link_delay = milliseconds(rng.between(1, 15));
  p.checkpoint_every = seconds(rng.between(3, 30));
  p.trailing = rng.coin() ? rng.below(10) : rng.below(300);
  p.segment_bytes = rng.coin() ? 128u << 10 : 64u << 10;
  p.fault_every = seconds(rng.between(2, 20));
  p.kill = weight();
  p.power_loss = weight();
  p.blackout = weight() / 2;
  p.disk_error = weight() / 2;
  p.full_disk = weight() / 2;
  p.slow_disk = weight();
  p.pause = weight();
  p.partition = weight();
  p.one_way = weight();
  p.bridge = weight();
  p.slow_link = weight();
  p.clock_jump = weight();
  if (rng.percent(20)) {  // the power goes again and again
    p.blackout = 20;
    p.power_loss = 10;
    p.fault_every = seconds(rng.between(2, 6));
  }
  p.member_change_every = rng.percent(30) ? 0 : seconds(rng.between(8, 60));
  return p;
}

}  // namespace jobbie::cluster_sim
