// Why a job is not running: the reasons a person asks for at 3 a.m.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/id.hpp"
#include "base/time.hpp"
#include "model/job.hpp"

namespace jobbie::engine {

enum class WhyCode : std::uint8_t {
  paused = 0,
  throttled,
  concurrency,
  waiting_for,
  backoff,
  scheduled,
  no_worker,  ///< nobody that could take it has asked lately
  behind,
  group_paused,
  requires_,
  clearing,
};
const char* to_string(WhyCode code);

struct WhyReason {
  WhyCode code = WhyCode::behind;
  std::string detail;              ///< a sentence
  base::Instant until;             ///< zero: not known
  std::vector<base::JobId> jobs;   ///< waiting_for
  std::uint64_t ahead = 0;         ///< behind
  bool ahead_is_at_least = false;  ///< counting stopped at a bound
};

struct Why {
  bool found = false;
  model::State state = model::State::pending;
  std::vector<WhyReason> reasons;
  base::Blob queue;
};

}  // namespace jobbie::engine
