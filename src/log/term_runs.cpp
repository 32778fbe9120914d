// Runs of equal terms, in order of index.
#include "log/term_runs.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace jobbie::log {

void TermRuns::reset(const consensus::Position& base) {
  base_ = base;
  last_index_ = base.index;
  runs_.clear();
}

void TermRuns::append(const consensus::Position& at) {
  JOBBIE_CHECK(at.index > base_.index && at.index <= last_index_ + 1);
  if (at.index <= last_index_)
    while (!runs_.empty() && runs_.back().first_index >= at.index) runs_.pop_back();
  if (runs_.empty() || runs_.back().term != at.term) runs_.push_back({at.index, at.term});
  last_index_ = at.index;
}

void TermRuns::cut(std::uint64_t index) {
  if (index <= base_.index) return;
  const auto at = term(index);
  JOBBIE_CHECK(at.has_value());
  base_ = {index, *at};
  while (runs_.size() > 1 && runs_[1].first_index <= index + 1) runs_.erase(runs_.begin());
  if (index == last_index_) runs_.clear();
}

std::optional<std::uint64_t> TermRuns::term(std::uint64_t index) const {
  if (index == base_.index) return base_.term;
  if (index < base_.index || index > last_index_) return std::nullopt;
  const auto after = std::upper_bound(
      runs_.begin(), runs_.end(), index,
      [](std::uint64_t i, const consensus::TermRun& run) { return i < run.first_index; });
  JOBBIE_CHECK(after != runs_.begin());
  return std::prev(after)->term;
}

consensus::Position TermRuns::last() const {
  return runs_.empty() ? base_ : consensus::Position{last_index_, runs_.back().term};
}

}  // namespace jobbie::log
