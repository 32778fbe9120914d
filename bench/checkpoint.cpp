// Checkpoints and the state hash at a large state.
#include <string>
#include <vector>

#include "base/check.hpp"
#include "bench/clock.hpp"
#include "bench/sections.hpp"
#include "command/codec.hpp"

namespace jobbie::bench {
namespace {

/// Items one after the other in one buffer, as a checkpoint file holds them.
struct Encoded {
  std::string bytes;
  std::vector<std::size_t> ends;
};

Encoded dump_encoded(const engine::Engine& engine) {
  Encoded out;
  engine.dump([&](const command::Item& item) {
    command::encode(item, out.bytes);
    out.ends.push_back(out.bytes.size());
  });
  return out;
}

void load(const Encoded& encoded, engine::EndedJobs& ended) {
  engine::Loader loader(ended);
  std::size_t begin = 0;
  for (const auto end : encoded.ends) {
    auto item = command::decode_item(std::string_view(encoded.bytes).substr(begin, end - begin));
    JOBBIE_CHECK(item.has_value());
    JOBBIE_CHECK(loader.add(std::move(*item)).has_value());
    begin = end;
  }
  const auto loaded = loader.finish();
  JOBBIE_CHECK(loaded.has_value());
  JOBBIE_CHECK(loaded->live_jobs() > 0);
}

template <typename Work>
double timed(Work work) {
  const auto begin = Clock::now();
  work();
  return seconds_since(begin);
}

}  // namespace

CheckpointFigure measure_checkpoint(std::size_t jobs) {
  NoEndedJobs ended;
  engine::Engine engine(ended);
  Workload workload(Variant::plain, 1);
  workload.fill(engine, jobs);
  CheckpointFigure out{.jobs = jobs};
  std::size_t items = 0;
  out.dump_seconds = timed([&] { engine.dump([&](const command::Item&) { ++items; }); });
  JOBBIE_CHECK(items >= jobs);
  Encoded encoded;
  out.dump_encoded_seconds = timed([&] { encoded = dump_encoded(engine); });
  out.bytes = encoded.bytes.size();
  out.load_seconds = timed([&] { load(encoded, ended); });
  std::uint64_t hash = 0;
  out.first_hash_seconds = timed([&] { hash = engine.state_hash(); });
  workload.fill(engine, 1000);
  out.next_hash_seconds = timed([&] { hash ^= engine.state_hash(); });
  JOBBIE_CHECK(hash != 0);
  return out;
}

}  // namespace jobbie::bench
