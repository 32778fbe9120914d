// Which queues globs match, as queues come and go: compared with matching each name.
#include "engine/queue_patterns.hpp"

#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace jobbie::engine {
namespace {

class Patterns : public ::testing::Test {
 protected:
  void add(std::uint32_t slot, const std::string& name) {
    names_[slot] = name;
    patterns_.add(slot, base::Blob(name));
  }
  void remove(std::uint32_t slot) {
    names_.erase(slot);
    patterns_.remove(slot);
  }
  /// The set may hold slots that nobody has.
  void check(const std::string& glob) {
    const QueueSet& found = patterns_.matches(glob);
    for (const auto& [slot, name] : names_) {
      const bool in = slot / kBlock < found.size() && (found[slot / kBlock] >> slot % kBlock & 1);
      ASSERT_EQ(in, base::glob_match(glob, name)) << glob << " ~ " << name;
    }
  }

  QueuePatterns patterns_{7};
  std::map<std::uint32_t, std::string> names_;
};

TEST_F(Patterns, KnowQueuesThatCameBeforeAndAfterThem) {
  add(1, "mail.a");
  check("mail.*");
  add(2, "mail.b");
  add(200, "mail.c");
  add(3, "sms.a");
  check("mail.*");
  check("*.a");
}

TEST_F(Patterns, ASlotThatAnotherQueueTakesIsLookedAtAgain) {
  add(1, "mail.a");
  add(2, "sms.a");
  check("mail.*");
  remove(1);
  remove(2);
  add(1, "sms.b");
  add(2, "mail.b");
  check("mail.*");
}

TEST_F(Patterns, ALookGoesOnWhereTheLastOneEnded) {
  for (std::uint32_t slot = 1; slot <= 100; ++slot)
    add(slot, (slot % 3 == 0 ? "a." : "b.") + std::to_string(slot));
  std::size_t looks = 0;
  for (bool done = false; !done; ++looks) {
    std::size_t budget = 10;
    done = patterns_.look("a.*", budget);
    ASSERT_EQ(budget == 0, !done);
    if (looks == 3) add(5, "a.new");  // behind the place where it is
  }
  EXPECT_EQ(looks, 11U);
  std::size_t budget = 0;
  EXPECT_TRUE(patterns_.look("a.*", budget)) << "nothing is left to look at";
  check("a.*");
}

TEST_F(Patterns, ManyQueuesThatCameAreForgottenAndAllAreLookedAtAgain) {
  add(1, "mail.first");
  check("mail.*");
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    if (names_.contains(2)) remove(2);
    add(2, (i % 2 == 0 ? "sms." : "mail.") + std::to_string(i));
  }
  check("mail.*");
  check("sms.*");
}

TEST_F(Patterns, TheOneUsedLongestAgoMakesRoom) {
  add(1, "mail.a");
  for (std::size_t i = 0; i < QueuePatterns::kMostPatterns * 2; ++i) {
    check("*" + std::to_string(i));
    check("mail.*");
    ASSERT_LE(patterns_.size(), QueuePatterns::kMostPatterns);
  }
  std::size_t budget = 0;
  EXPECT_TRUE(patterns_.look("mail.*", budget)) << "it was used all the time";
  EXPECT_FALSE(patterns_.look("*1", budget)) << "it was not";
}

TEST_F(Patterns, EqualWhatTheNamesSay) {
  std::mt19937_64 random(5);
  const auto word = [&](std::string_view letters) {
    std::string text(1 + random() % 6, 'a');
    for (char& c : text) c = letters[random() % letters.size()];
    return text;
  };
  for (int i = 0; i < 20'000; ++i) {
    const auto slot = static_cast<std::uint32_t>(1 + random() % 300);
    if (names_.contains(slot)) remove(slot);
    if (random() % 3 != 0) add(slot, word("ab."));
    if (i % 10 == 0) check(word("ab.*?") + "*");
  }
}

}  // namespace
}  // namespace jobbie::engine
