// The writer: commas, escapes, numbers, times.
#include "base/json_writer.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "base/json.hpp"

namespace jobbie::base::json {
namespace {

TEST(JsonWriter, PutsCommasWhereTheyBelong) {
  std::string out;
  Writer json(out);
  json.begin_object();
  json.member("a").number(1);
  json.member("b").begin_array().number(-2).string("x\"").null().end_array();
  json.member("c").begin_object().end_object();
  json.member_quoted("d\n").boolean(true);
  json.member("e").raw("1.0");
  json.member("f").plain("text");
  json.member("g").begin_array().begin_object().end_object().begin_array().end_array().end_array();
  json.end_object();
  EXPECT_EQ(out, R"({"a":1,"b":[-2,"x\"",null],"c":{},"d\n":true,"e":1.0,"f":"text","g":[{},[]]})");
  EXPECT_TRUE(is_valid(out));
}

TEST(JsonWriter, WritesNumbersIdsAndTimes) {
  std::string out;
  Writer json(out);
  json.begin_array();
  json.number(std::numeric_limits<std::int64_t>::min());
  json.number(std::numeric_limits<std::uint64_t>::max());
  json.id(JobId{Ulid::make({1}, 2, 3)});
  json.instant({1'770'804'015'250});
  json.seconds(seconds(60)).seconds(milliseconds(250)).seconds(milliseconds(1500));
  json.seconds(milliseconds(1)).seconds({}).seconds(milliseconds(1010));
  json.number_text(7).millionths(250'000).millionths(1'000'000).millionths(1);
  json.end_array();
  EXPECT_EQ(out,
            "[-9223372036854775808,18446744073709551615,\"" + JobId{Ulid::make({1}, 2, 3)}.text() +
                "\",\"2026-02-11T10:00:15.250Z\",60,0.25,1.5,0.001,0,1.01,\"7\",0.25,1,0.000001]");
}

}  // namespace
}  // namespace jobbie::base::json
