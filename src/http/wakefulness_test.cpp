// Who is busy stays awake, and does not take the waiting for work.
#include "http/wakefulness.hpp"

#include <gtest/gtest.h>

namespace jobbie::http {
namespace {

using std::chrono::milliseconds;

TEST(Wakefulness, IsForTheBusy) {
  Wakefulness awake;
  EXPECT_FALSE(awake.pays());
  EXPECT_TRUE(awake.is_due(milliseconds(10)));
  awake.look(milliseconds(100), milliseconds(39));
  EXPECT_FALSE(awake.pays());
  EXPECT_FALSE(awake.is_due(milliseconds(109)));
  EXPECT_TRUE(awake.is_due(milliseconds(110)));
  awake.look(milliseconds(110), milliseconds(43));
  EXPECT_TRUE(awake.pays()) << "four of ten";
  for (int i = 0; i < 3'500; ++i) awake.note_waited(std::chrono::microseconds(2));
  awake.look(milliseconds(120), milliseconds(53));
  EXPECT_FALSE(awake.pays()) << "it used all ten and worked for three";
  awake.look(milliseconds(130), milliseconds(63));
  EXPECT_TRUE(awake.pays());
  for (int i = 0; i < 500; ++i) awake.note_waited(std::chrono::microseconds(10));
  awake.look(milliseconds(140), milliseconds(69));
  EXPECT_TRUE(awake.pays()) << "others ran for most of what it waited";
}

}  // namespace
}  // namespace jobbie::http
