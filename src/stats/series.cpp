// Closing steps and giving them out.
#include "stats/series.hpp"

namespace jobbie::stats {

Point Series::present() const {
  Point point = open_;
  point.wait = wait_.quantiles();
  point.run = run_.quantiles();
  return point;
}

void Series::turn_to(base::Instant at) {
  const auto tick = static_cast<std::uint32_t>(at.ms / step_ms_);
  next_ms_ = (at.ms / step_ms_ + 1) * step_ms_;
  if (open_.tick != 0) closed_.push_back(present());
  while (!closed_.empty() && closed_.front().tick + kept_ <= tick) closed_.pop_front();
  open_ = {};
  open_.tick = tick;
  wait_.clear();
  run_.clear();
}

std::vector<Point> Series::points(base::Instant since, base::Instant until) const {
  std::vector<Point> out;
  const auto first = since.ms / step_ms_;
  const auto last = until.ms / step_ms_;
  for (const Point& point : closed_)
    if (point.tick >= first && point.tick <= last) out.push_back(point);
  if (open_.tick != 0 && open_.tick >= first && open_.tick <= last) out.push_back(present());
  return out;
}

}  // namespace jobbie::stats
