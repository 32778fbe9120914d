// The file that tells when somebody last led.
#include "node/life_sign.hpp"

#include <filesystem>
#include <fstream>
#include <stdlib.h>

#include <gtest/gtest.h>

namespace jobbie::node {
namespace {

class LifeSignTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "jobbie-sign-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  void put(std::string_view text) { std::ofstream(dir_ + "/alive", std::ios::binary) << text; }

  std::string dir_;
};

TEST_F(LifeSignTest, IsReadAsItWasWritten) {
  LifeSignFile file(dir_);
  EXPECT_FALSE(file.read());
  const LifeSign longer{.boot = "0123-long",
                        .steady_us = 9'223'372'036'854'775'807,
                        .wall_us = -9'223'372'036'854'775'807,
                        .log = {9'223'372'036'854'775'807}};
  const LifeSign shorter{.boot = {}, .steady_us = 1, .wall_us = 2, .log = {3}};
  for (const auto& sign : {longer, shorter}) {
    file.write(sign);
    const auto read = LifeSignFile(dir_).read();
    ASSERT_TRUE(read);
    EXPECT_EQ(read->boot, sign.boot);
    EXPECT_EQ(read->steady_us, sign.steady_us);
    EXPECT_EQ(read->wall_us, sign.wall_us);
    EXPECT_EQ(read->log, sign.log);
  }
}

TEST_F(LifeSignTest, OfAnythingElseTheFilesOwnTimeIsTaken) {
  for (const auto* text : {"", "one 1 2", "one 1 2\n", "one 1 x 3\n", "\n", "one 1 2 3x\n"}) {
    put(text);
    const auto read = LifeSignFile(dir_).read();
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->boot, "");
    EXPECT_GT(read->wall_us, 1'700'000'000'000'000) << text;
  }
}

TEST_F(LifeSignTest, ADamagedOneIsNotBelieved) {
  LifeSignFile(dir_).write({.boot = "0123", .steady_us = 1'234, .wall_us = 5'678, .log = {9'012}});
  std::string whole;
  std::getline(std::ifstream(dir_ + "/alive"), whole);
  whole += '\n';
  for (std::size_t byte = 0; byte < whole.size(); ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      auto damaged = whole;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      put(damaged);
      const auto read = LifeSignFile(dir_).read();
      ASSERT_TRUE(read);
      EXPECT_EQ(read->boot, "") << byte << '.' << bit;
      EXPECT_GT(read->wall_us, 1'700'000'000'000'000) << byte << '.' << bit;
    }
}

TEST_F(LifeSignTest, AFolderThatIsNotThereDoesNoHarm) {
  LifeSignFile file(dir_ + "/nowhere");
  file.write({});
  EXPECT_FALSE(file.read());
}

}  // namespace
}  // namespace jobbie::node
