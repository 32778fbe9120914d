// The rates of a queue as every list of queues shows them. Private to the folder.
#pragma once

#include <cstdint>

#include "base/json_writer.hpp"
#include "stats/stats.hpp"

namespace jobbie::face::native {

/// Per second, over the last minute: {"enqueued": 1.25, "completed": 1, "failed": 0.016}.
inline void write_rates(base::json::Writer& json, const stats::Rates& rates) {
  // A number of seconds with a fraction is written in thousandths, which suits a rate as well.
  const auto rate = [](std::uint64_t count) {
    return base::milliseconds(static_cast<std::int64_t>(count * 1000 / stats::Rates::kWindow_s));
  };
  json.begin_object();
  json.member("enqueued").seconds(rate(rates.enqueued));
  json.member("completed").seconds(rate(rates.completed));
  json.member("failed").seconds(rate(rates.failed));
  json.end_object();
}

}  // namespace jobbie::face::native
