// What the engine's objects take in memory, about: the account that a node judges new jobs by.
//
// The figures are functions of the contents alone and the same on every machine, so that they can
// be kept up to date in O(1) and recounted by an audit. What tables and lists take beside the
// objects is in the constants.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/job.hpp"
#include "model/records.hpp"

namespace jobbie::engine {

struct Worker;

/// Of a job without texts and parts: its slot, its entry in the index, its place in a heap.
inline constexpr std::size_t kJobFootprint = sizeof(Job) + 48;
/// Of a record in a tree or hash table: the node's links and the table's share.
inline constexpr std::size_t kNodeFootprint = 64;
/// Of a queue, with its lane and its entry in the table of names.
inline constexpr std::size_t kQueueFootprint = 2048;
inline constexpr std::size_t kGroupFootprint = 512;
inline constexpr std::size_t kLimiterFootprint = 512;
inline constexpr std::size_t kLaneFootprint = 256;
/// Of a delivery that waits; its texts are bounded.
inline constexpr std::size_t kDeliveryFootprint = 512;

/// Rounded as allocators do.
constexpr std::size_t allocated(std::size_t bytes) {
  return bytes == 0 ? 0 : (bytes + 15) / 16 * 16 + bytes / 16;
}

inline std::size_t footprint(const Blob& blob) {
  return blob.empty() ? 0 : allocated(blob.size() + Blob::kHeaderBytes);
}

/// Payload, worker and hostname.
std::size_t texts_footprint(const Job& job);
std::size_t footprint(const Unique& unique);
std::size_t footprint(const Placement& place);
std::size_t footprint(const Details& details);
std::size_t footprint(const model::BatchRecord& batch);
std::size_t footprint(const model::ScheduleRecord& schedule);
std::size_t footprint(const Worker& worker);
std::size_t footprint(const model::IdempotencyRecord& record);

}  // namespace jobbie::engine
