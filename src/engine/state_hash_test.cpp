// The hash of the state, computed in parts while the state goes on changing.
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "engine/nothing_ended.hpp"

namespace jobbie::engine {
namespace {

using base::Blob;

TEST(StateHash, InPartsIsTheSameAsInOneGo) {
  std::mt19937_64 random(11);
  NothingEnded ended;
  Engine parts(ended);
  Engine whole(ended);
  std::int64_t now = 1'000'000;
  std::vector<base::JobId> ids;
  const auto apply = [&](command::Command command) {
    const command::Entry entry{.now = {now += 1}, .random = 7, .commands = {std::move(command)}};
    auto outcome = parts.apply(entry);
    static_cast<void>(whole.apply(entry));
    return std::move(outcome.replies.front());
  };
  for (int i = 0; i < 3'000; ++i) {
    if (ids.empty() || random() % 3 != 0) {
      command::Enqueue enqueue;
      enqueue.job.queue = Blob(random() % 2 == 0 ? "a" : "b");
      enqueue.job.payload = Blob("{}");
      ids.push_back(std::get<command::Enqueued>(apply(std::move(enqueue))).job);
    } else {
      const auto at = random() % ids.size();
      if (random() % 2 == 0) {
        apply(command::Delete{.job = ids[at]});
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        apply(command::SetPriority{.job = ids[at], .priority = static_cast<int>(random() % 4)});
      }
    }
    std::size_t budget = random() % 3;
    const bool done = parts.prepare_hash(budget);
    if (done && i % 50 == 0) {
      ASSERT_EQ(parts.state_hash(), whole.state_hash()) << i;
    }
  }
  EXPECT_EQ(parts.state_hash(), whole.state_hash());
}

}  // namespace
}  // namespace jobbie::engine
