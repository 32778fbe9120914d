// Patterns catch up with the queues that have come; see queue_patterns.hpp.
#include "engine/queue_patterns.hpp"

#include <algorithm>
#include <limits>

namespace jobbie::engine {
namespace {

/// Queues that have come are remembered until there are so many that looking at all there are is no
/// more work.
constexpr std::size_t kLeastRemembered = 1024;
/// Names are scattered: the bytes of those that come next are on their way already.
constexpr std::size_t kAhead = 8;

}  // namespace

void QueuePatterns::add(std::uint32_t slot, const base::Blob& name) {
  if (slot >= names_.size()) names_.resize(slot + 1);
  names_[slot] = name;
  added_.push_back(slot);
  if (added_.size() < 2 * std::max(names_.size(), kLeastRemembered)) return;
  const auto half = added_.size() / 2;
  added_.erase(added_.begin(), added_.begin() + static_cast<std::ptrdiff_t>(half));
  forgotten_ += half;
}

const QueueSet& QueuePatterns::matches(std::string_view text) {
  Pattern& pattern = find(text);
  auto budget = std::numeric_limits<std::size_t>::max();
  advance(pattern, budget);
  return pattern.matches;
}

bool QueuePatterns::look(std::string_view text, std::size_t& budget) {
  // A new one makes another go, and so must be worth it.
  if (budget == 0 && patterns_.find(text) == patterns_.end()) return false;
  return advance(find(text), budget);
}

QueuePatterns::Pattern& QueuePatterns::find(std::string_view text) {
  auto found = patterns_.find(text);
  if (found == patterns_.end()) {
    if (patterns_.size() >= kMostPatterns) make_room();
    found = patterns_.try_emplace(std::string(text), text).first;
    begin_again(found->second);
  }
  found->second.used = ++clock_;
  return found->second;
}

void QueuePatterns::make_room() {
  patterns_.erase(
      std::min_element(patterns_.begin(), patterns_.end(),
                       [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
}

void QueuePatterns::begin_again(Pattern& pattern) {
  pattern.matches.clear();
  pattern.next_slot = 0;
  pattern.end_slot = static_cast<std::uint32_t>(names_.size());
  pattern.seen = forgotten_ + added_.size();
}

bool QueuePatterns::advance(Pattern& pattern, std::size_t& budget) {
  if (pattern.seen < forgotten_) begin_again(pattern);
  for (; pattern.next_slot < pattern.end_slot; ++pattern.next_slot, --budget) {
    if (budget == 0) return false;
    if (pattern.next_slot + kAhead < names_.size()) names_[pattern.next_slot + kAhead].prefetch();
    look_at(pattern, pattern.next_slot);
  }
  for (; pattern.seen < forgotten_ + added_.size(); ++pattern.seen, --budget) {
    if (budget == 0) return false;
    look_at(pattern, added_[pattern.seen - forgotten_]);
  }
  return true;
}

void QueuePatterns::look_at(Pattern& pattern, std::uint32_t slot) {
  const auto name = names_[slot].view();
  if (!name.empty() && pattern.glob.matches(name)) return insert(pattern.matches, slot);
  if (slot / kBlock < pattern.matches.size())
    pattern.matches[slot / kBlock] &= ~(std::uint64_t{1} << slot % kBlock);
}

}  // namespace jobbie::engine
