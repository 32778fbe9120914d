// The claimable order of a queue: which lane a job belongs to, and how lanes stand to each other.
//
// A queue whose jobs have no group, requirement or limit key has one lane and no order to keep. The
// first job that differs starts the ordering: lanes then stand in buckets (one for each
// requirement, and under `fairness=group` one for each group too), and buckets in their need's
// order.
#include <algorithm>

#include "base/check.hpp"
#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

void append_sorted(std::string& key, std::vector<std::string_view> parts, char mark) {
  std::sort(parts.begin(), parts.end());
  for (const auto part : parts) {
    key.push_back(mark);
    key.append(part);
  }
}

std::vector<std::string_view> views(const std::vector<Blob>& texts) {
  std::vector<std::string_view> out;
  for (const Blob& text : texts) out.push_back(text.view());
  return out;
}

/// Target worker first, so that a claim finds what is meant for it in one range. Names hold no
/// control characters, which separate the parts.
std::string need_key(const model::Requirements& requirements) {
  std::string key(requirements.target_worker.view());
  key.push_back('\x01');
  append_sorted(key, views(requirements.roles), '\x02');
  append_sorted(key, views(requirements.tags), '\x03');
  return key;
}

}  // namespace

Need* Core::need_of(Queue& queue, const Job& job) {
  static const model::Requirements kNone;
  const model::Requirements& wanted = job.placement ? job.placement->requirements : kNone;
  auto key = need_key(wanted);
  auto& need = queue.needs[key];
  if (!need) {
    need = std::make_unique<Need>();
    need->requirements = wanted;
    need->key = std::move(key);
    need->order = IndexedHeap<std::uint64_t, BucketPosition>(BucketPosition{&buckets});
  }
  return need.get();
}

void Core::enter_lane(Slot slot) {
  Job& job = jobs[slot];
  Queue& queue = queue_of(job);
  const Placement* place = job.placement.get();
  const bool plain = place == nullptr || (place->group_slot == 0 && place->requirements.none() &&
                                          place->concurrency_key == 0 && place->throttle_key == 0);
  Slot& plain_lane = queue.plain_lane;
  if (plain) {
    if (plain_lane == 0) plain_lane = make_lane(queue, {});
    job.seat = plain_lane;
  } else {
    if (!queue.ordered) start_ordering(queue);
    const LaneKey key{.group = place->group_slot,
                      .concurrency_key = place->concurrency_key,
                      .throttle_key = place->throttle_key,
                      .need = place->requirements.none() ? nullptr : need_of(queue, job)};
    Slot& lane = queue.lanes[key];
    if (lane == 0) lane = make_lane(queue, key);
    job.seat = lane;
  }
  lanes[job.seat].insert(slot);
  if (queue.ordered) place_lane(job.seat);
  heads.set_pending(queue.slot, true);
  note_head(queue);
  mark_ready(queue);
}

Slot Core::make_lane(Queue& queue, const LaneKey& key) {
  const Slot slot = lanes.allocate(jobs);
  Lane& lane = lanes[slot];
  lane.queue = queue.slot;
  lane.group = key.group;
  lane.concurrency_key = key.concurrency_key;
  lane.throttle_key = key.throttle_key;
  lane.need = const_cast<Need*>(key.need);
  if (lane.need != nullptr) ++lane.need->lanes;
  if (lane.group != 0) groups[lane.group]->lanes.push_back(slot);
  for (const Slot limiter : {lane.concurrency_key, lane.throttle_key})
    if (limiter != 0) limiters[limiter].lanes.push_back(slot);
  return slot;
}

void Core::leave_lane(Slot slot) {
  Job& job = jobs[slot];
  const Slot lane_slot = std::exchange(job.seat, 0);
  Lane& lane = lanes[lane_slot];
  lane.remove(slot);
  Queue& queue = queue_of(job);
  if (queue.ordered) place_lane(lane_slot);
  const bool emptied = lane.empty();
  if (emptied && lane_slot != queue.plain_lane) drop_lane(queue, lane_slot);
  if (emptied && queue.lanes.empty() && (queue.plain_lane == 0 || lanes[queue.plain_lane].empty()))
    heads.set_pending(queue.slot, false);
  note_head(queue);
}

void Core::note_head(const Queue& queue) {
  ReadyKey bound;
  if (!queue.ordered) {
    const bool any = queue.plain_lane != 0 && !lanes[queue.plain_lane].empty();
    bound = any ? lanes[queue.plain_lane].head_key() : kNothingReady;
  } else if (!queue.needs.empty() || queue.settings.fairness == model::Fairness::group) {
    // Which job comes first depends on the worker or the group: claims have to look.
    bound = kMayBeFirst;
  } else if (queue.no_need.order.empty()) {
    bound = kNothingReady;  // every lane is closed
  } else {
    bound = buckets[queue.no_need.order.top().item].lanes.top().key;
  }
  heads.set_bound(queue.slot, bound);
}

void Core::drop_lane(Queue& queue, Slot slot) {
  Lane& lane = lanes[slot];
  if (lane.group != 0) {
    std::erase(groups[lane.group]->lanes, slot);
    drop_group_if_idle(lane.group);
  }
  for (const Slot limiter : {lane.concurrency_key, lane.throttle_key})
    if (limiter != 0) std::erase(limiters[limiter].lanes, slot);
  Need* need = lane.need;
  queue.lanes.erase({lane.group, lane.concurrency_key, lane.throttle_key, need});
  lanes.release(slot);
  if (need != nullptr && --need->lanes == 0) queue.needs.erase(need->key);
  if (queue.lanes.empty()) stop_ordering(queue);
}

bool Core::lane_is_open(const Lane& lane) const {
  if (lane.empty()) return false;
  if (lane.group != 0 && groups[lane.group]->paused && !options.plants(Plant::paused_group_leaks))
    return false;
  if (lane.concurrency_key != 0 && limiters[lane.concurrency_key].full) return false;
  return lane.throttle_key == 0 || !limiters[lane.throttle_key].full;
}

void Core::place_lane(Slot slot) {
  Lane& lane = lanes[slot];
  Queue& queue = *queues[lane.queue];
  if (!queue.ordered) return;
  Need& need = lane.need != nullptr ? *lane.need : queue.no_need;
  if (!lane_is_open(lane)) {
    if (lane.bucket == 0) return;
    const Slot bucket = std::exchange(lane.bucket, 0);
    buckets[bucket].lanes.erase(slot);
    place_bucket(need, bucket);
    return note_head(queue);
  }
  if (lane.bucket != 0) {
    buckets[lane.bucket].lanes.update(slot, lane.head_key());
  } else {
    const bool by_group = queue.settings.fairness == model::Fairness::group;
    Slot& bucket = need.buckets[by_group ? lane.group : 0];
    if (bucket == 0) {
      bucket = buckets.allocate();
      buckets[bucket].group = by_group ? lane.group : 0;
      buckets[bucket].lanes = IndexedHeap<ReadyKey, LanePosition>(LanePosition{&lanes});
    }
    lane.bucket = bucket;
    buckets[bucket].lanes.push(slot, lane.head_key());
  }
  place_bucket(need, lane.bucket);
  note_head(queue);
}

void Core::place_bucket(Need& need, Slot slot) {
  Bucket& bucket = buckets[slot];
  if (bucket.lanes.empty()) {
    if (need.order.contains(slot)) need.order.erase(slot);
    need.buckets.erase(bucket.group);
    return buckets.release(slot);
  }
  const auto head = bucket.lanes.top().key.sequence;
  if (need.order.contains(slot))
    need.order.update(slot, head);
  else
    need.order.push(slot, head);
}

void Core::start_ordering(Queue& queue) {
  queue.ordered = true;
  queue.no_need.order = IndexedHeap<std::uint64_t, BucketPosition>(BucketPosition{&buckets});
  if (queue.plain_lane != 0) place_lane(queue.plain_lane);
}

void Core::stop_ordering(Queue& queue) {
  if (queue.plain_lane != 0) {
    Lane& lane = lanes[queue.plain_lane];
    if (const Slot bucket = std::exchange(lane.bucket, 0); bucket != 0) {
      buckets[bucket].lanes.erase(queue.plain_lane);
      place_bucket(queue.no_need, bucket);
    }
  }
  queue.ordered = false;
}

void Core::set_fairness(Queue& queue, model::Fairness fairness) {
  std::vector<Slot> all;
  for (const auto& [key, lane] : queue.lanes) all.push_back(lane);
  if (queue.plain_lane != 0) all.push_back(queue.plain_lane);
  if (queue.ordered) {
    for (const Slot slot : all) {
      Lane& lane = lanes[slot];
      const Slot bucket = std::exchange(lane.bucket, 0);
      if (bucket == 0) continue;
      buckets[bucket].lanes.erase(slot);
      place_bucket(lane.need != nullptr ? *lane.need : queue.no_need, bucket);
    }
  }
  queue.settings.fairness = fairness;
  if (queue.ordered)
    for (const Slot slot : all) place_lane(slot);
  note_head(queue);
}

}  // namespace jobbie::engine
