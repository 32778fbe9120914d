// Joining and leaving a lane.
#include "engine/lane.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace jobbie::engine {

Lane::Tier* Lane::tier_for(const Job& job) {
  const auto priority = static_cast<std::uint32_t>(job.priority);
  return priority < kTiers ? &tiers_[priority] : nullptr;
}

void Lane::insert(std::uint32_t slot) {
  Job& job = (*jobs_)[slot];
  Tier* tier = tier_for(job);
  if (tier != nullptr && (tier->last == 0 || job.sequence() > tier->last_sequence)) {
    job.ready_prev = tier->last;
    job.ready_next = 0;
    (tier->last == 0 ? tier->first : (*jobs_)[tier->last].ready_next) = slot;
    tier->last = slot;
    tier->last_sequence = job.sequence();
  } else {
    late_.push(slot, ready_key(job));
  }
  if (size_++ == 0 || ready_key(job) < head_key_) {
    head_ = slot;
    head_key_ = ready_key(job);
  }
}

void Lane::remove(std::uint32_t slot) {
  Job& job = (*jobs_)[slot];
  if (job.late_position != kAbsent) {
    late_.erase(slot);
  } else {
    Tier* tier = tier_for(job);
    JOBBIE_CHECK(tier != nullptr);
    (job.ready_prev == 0 ? tier->first : (*jobs_)[job.ready_prev].ready_next) = job.ready_next;
    if (job.ready_next != 0) {
      (*jobs_)[job.ready_next].ready_prev = job.ready_prev;
    } else {
      tier->last = job.ready_prev;
      tier->last_sequence = tier->last == 0 ? 0 : (*jobs_)[tier->last].sequence();
    }
    job.ready_prev = job.ready_next = 0;
  }
  --size_;
  if (slot == head_) find_head();
}

void Lane::find_head() {
  head_ = 0;
  for (const Tier& tier : tiers_) {
    if (tier.first == 0) continue;
    head_ = tier.first;
    const Job& job = (*jobs_)[head_];
    head_key_ = ready_key(job);
    // The next claim will want this one's payload, and the one behind it as the head after that.
    job.payload.prefetch();
    jobs_->prefetch(job.ready_next);
    break;  // tiers stand in order of priority
  }
  if (late_.empty()) return;
  if (head_ == 0 || late_.top().key < head_key_) {
    head_ = late_.top().item;
    head_key_ = late_.top().key;
  }
}

std::size_t Lane::ahead_of(std::uint32_t slot, std::size_t& looks) const {
  const ReadyKey key = ready_key((*jobs_)[slot]);
  std::size_t count = 0;
  for (const Tier& tier : tiers_) {
    for (auto s = tier.first; s != 0 && looks > 0; s = (*jobs_)[s].ready_next) {
      --looks;
      if (!(ready_key((*jobs_)[s]) < key)) break;
      ++count;
    }
  }
  late_.for_each([&](const LateHeap::Entry& entry) {
    if (looks == 0) return false;
    --looks;
    if (entry.key < key) ++count;
    return true;
  });
  return count;
}

std::uint64_t Lane::oldest(std::size_t& looks) const {
  std::uint64_t best = head_key_.sequence;
  for (const Tier& tier : tiers_)
    if (tier.first != 0) best = std::min(best, (*jobs_)[tier.first].sequence());
  late_.for_each([&](const LateHeap::Entry& entry) {
    if (looks == 0) return false;
    --looks;
    best = std::min(best, entry.key.sequence);
    return true;
  });
  return best;
}

bool Lane::audit() const {
  std::size_t count = late_.size();
  ReadyKey best = late_.empty() ? ReadyKey{} : late_.top().key;
  bool any = !late_.empty();
  for (const Tier& tier : tiers_) {
    std::uint32_t previous = 0;
    std::uint64_t sequence = 0;
    for (auto slot = tier.first; slot != 0; slot = (*jobs_)[slot].ready_next) {
      const Job& job = (*jobs_)[slot];
      if (job.ready_prev != previous || job.sequence() <= sequence) return false;
      if (!any || ready_key(job) < best) best = ready_key(job);
      any = true;
      previous = slot;
      sequence = job.sequence();
      ++count;
    }
    if (tier.last != previous) return false;
  }
  if (!late_.audit() || count != size_ || any != !empty()) return false;
  return empty() || (head_key_ == best && ready_key((*jobs_)[head_]) == best);
}

}  // namespace jobbie::engine
