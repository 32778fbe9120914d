// The screen as text, and what keys do to it.
#include "tui/screen.hpp"

#include <gtest/gtest.h>

#include "tui/keys.hpp"

namespace jobbie::tui {
namespace {

Snapshot some() {
  Snapshot s;
  s.url = "http://127.0.0.1:8080";
  s.cluster = "leader, 1 node, up 3m";
  s.clock = "10:00:15";
  s.enqueued = {0, 1, 2, 4};
  s.queues = {{.name = "a", .pending = 3, .dead = 1},
              {.name = "b", .pending = 1, .status = "paused"}};
  s.jobs = {{.id = "job_1", .queue = "a", .state = "pending", .attempt = "0/3"},
            {.id = "job_2", .queue = "a", .state = "dead", .attempt = "3/3"}};
  return s;
}

std::string all(const Snapshot& s, const Look& look, Size size) {
  std::string out;
  for (const Line& line : render(s, look, size, Charset::ascii)) out += text_of(line) + "\n";
  return out;
}

TEST(Screen, HasExactlyItsSize) {
  for (const Size size : {Size{80, 24}, Size{40, 8}, Size{200, 60}, Size{20, 3}, Size{1, 1}}) {
    for (const View view :
         {View::queues, View::workers, View::jobs, View::events, View::job, View::help}) {
      Look look;
      look.view = view;
      const auto lines = render(some(), look, size, Charset::unicode);
      ASSERT_EQ(lines.size(), static_cast<std::size_t>(size.rows));
      for (const Line& line : lines) EXPECT_LE(width_of(text_of(line)), size.columns);
    }
  }
}

TEST(Screen, ShowsQueues) {
  const std::string text = all(some(), {}, {80, 24});
  EXPECT_NE(text.find(" 4 pending  0 active  0 scheduled  0 retrying  1 dead"), std::string::npos)
      << text;
  EXPECT_NE(text.find("paused"), std::string::npos);
  EXPECT_NE(text.find("leader, 1 node, up 3m"), std::string::npos);
}

TEST(Screen, ShowsNothingThatATerminalActsUpon) {
  Snapshot s = some();
  s.queues[0].name = "a\x1b[2J\u009b31m\u202e";
  s.jobs[0].queue = "\u009b";
  for (const View view : {View::queues, View::jobs}) {
    Look look;
    look.view = view;
    for (const int columns : {20, 80, 200}) {
      const std::string text = all(s, look, {columns, 24});
      for (const char* bad : {"\x1b", "\u009b", "\u202e"})
        EXPECT_EQ(text.find(bad), std::string::npos) << text;
    }
  }
  EXPECT_NE(all(s, {}, {200, 24}).find("a\\u001b[2J\\u009b31m\\u202e"), std::string::npos);
}

TEST(Screen, SparklinesAreAsWideAsAsked) {
  EXPECT_EQ(sparkline({0, 1, 2, 4}, 4, Charset::unicode), "▁▃▅█");
  EXPECT_EQ(sparkline({1}, 3, Charset::ascii), "  #");
  EXPECT_EQ(sparkline({}, 2, Charset::ascii), "  ");
  EXPECT_EQ(sparkline({0, 0}, 1, Charset::ascii), "_");
}

TEST(Keys, PauseTogglesWhatIsSelected) {
  Look look;
  EXPECT_TRUE(press('p', some(), look, 10).empty());
  press('j', some(), look, 10);
  EXPECT_EQ(look.selected, "a");
  EXPECT_EQ(press('p', some(), look, 10).at(0).target, "/api/v1/queues/a/pause");
  press('G', some(), look, 10);
  EXPECT_EQ(press('p', some(), look, 10).at(0).target, "/api/v1/queues/b/resume");
}

TEST(Keys, CapitalsAskFirst) {
  Look look;
  look.view = View::jobs;
  press('j', some(), look, 10);
  press(' ', some(), look, 10);
  press(' ', some(), look, 10);
  EXPECT_EQ(look.marked.size(), 2U);
  EXPECT_TRUE(press('D', some(), look, 10).empty());
  EXPECT_EQ(look.prompt, Prompt::confirm);
  EXPECT_TRUE(press('n', some(), look, 10).empty());
  EXPECT_TRUE(look.waiting.empty());
  look.selected = "job_1";
  press('C', some(), look, 10);
  const auto deeds = press('y', some(), look, 10);
  ASSERT_EQ(deeds.size(), 1U);
  EXPECT_EQ(deeds[0].target, "/api/v1/jobs/job_1/cancel");
}

TEST(Keys, FilterAndCommands) {
  Look look;
  for (const char c : std::string("/b")) press(c, some(), look, 10);
  EXPECT_EQ(listed(some(), look), std::vector<std::string>{"b"});
  press(static_cast<int>(Key::escape), some(), look, 10);
  EXPECT_EQ(listed(some(), look).size(), 2U);
  for (const char c : std::string(":pause a")) press(c, some(), look, 10);
  EXPECT_EQ(press(static_cast<int>(Key::enter), some(), look, 10).at(0).target,
            "/api/v1/queues/a/pause");
  for (const char c : std::string(":quit")) press(c, some(), look, 10);
  press(static_cast<int>(Key::enter), some(), look, 10);
  EXPECT_TRUE(look.quit);
}

TEST(Keys, OpenAndBack) {
  Look look;
  press('j', some(), look, 10);
  press(static_cast<int>(Key::enter), some(), look, 10);
  EXPECT_EQ(look.view, View::jobs);
  EXPECT_EQ(look.queue, "a");
  press('j', some(), look, 10);
  press(static_cast<int>(Key::enter), some(), look, 10);
  EXPECT_EQ(look.view, View::job);
  EXPECT_EQ(look.job_id, "job_1");
  press(static_cast<int>(Key::escape), some(), look, 10);
  EXPECT_EQ(look.view, View::jobs);
  press(static_cast<int>(Key::escape), some(), look, 10);
  EXPECT_EQ(look.view, View::queues);
}

}  // namespace
}  // namespace jobbie::tui
