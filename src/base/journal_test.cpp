// Lines as they arrive at the other end of a pipe.
#include "base/journal.hpp"

#include <array>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/json.hpp"

namespace jobbie::base {
namespace {

class JournalTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe(ends_.data()), 0); }
  void TearDown() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  std::string read_back() {
    std::array<char, 4096> buffer{};
    const auto count = ::read(ends_[0], buffer.data(), buffer.size());
    return {buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
  }
  std::array<int, 2> ends_{};
};

TEST_F(JournalTest, ALineIsOneJsonObject) {
  Journal journal(ends_[1]);
  journal.write(Level::warning, "disk_\"full\"",
                {{"bytes", std::int64_t{-5}}, {"ok", false}, {"path", std::string_view("a\nb")}});
  std::string line = read_back();
  ASSERT_FALSE(line.empty());
  EXPECT_EQ(line.back(), '\n');
  line.pop_back();
  EXPECT_TRUE(json::is_object(line)) << line;
  EXPECT_EQ(json::member(line, "level"), "\"warning\"");
  EXPECT_EQ(json::member(line, "event"), R"("disk_\"full\"")");
  EXPECT_EQ(json::member(line, "bytes"), "-5");
  EXPECT_EQ(json::member(line, "ok"), "false");
  EXPECT_EQ(json::member(line, "path"), R"("a\nb")");
  EXPECT_EQ(json::member(line, "at")->size(), std::string("\"2026-02-11T10:00:00.123Z\"").size());
}

TEST_F(JournalTest, LowerLevelsAreLeftOut) {
  Journal journal(ends_[1], Level::error);
  journal.write(Level::info, "quiet");
  journal.write(Level::error, "loud");
  EXPECT_EQ(json::member(read_back(), "event"), "\"loud\"");
}

TEST(Level, ParsesItsOwnNames) {
  EXPECT_EQ(parse_level("debug"), Level::debug);
  EXPECT_EQ(parse_level("error"), Level::error);
  EXPECT_FALSE(parse_level("loud").has_value());
}

}  // namespace
}  // namespace jobbie::base
