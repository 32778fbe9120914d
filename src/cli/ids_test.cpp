// Ids in whatever shape; times and values as typed.
#include "cli/ids.hpp"

#include <sstream>

#include <gtest/gtest.h>

#include "cli/print.hpp"
#include "cli/progress.hpp"
#include "cli/suggest.hpp"
#include "cli/times.hpp"

namespace jobbie::cli {
namespace {

const std::string kOne = "job_01M7FFCJCK0000000006ETNKJ0";
const std::string kTwo = "job_01M7FFCJCK0000000006ETNKJ1";

std::vector<std::string> ids_of(const std::string& text) {
  std::istringstream in(text);
  return read_ids(in).value_or(std::vector<std::string>{"refused"});
}

TEST(Ids, EveryShape) {
  const std::vector<std::string> both = {kOne, kTwo};
  EXPECT_EQ(ids_of(kOne + "\n" + kTwo), both);
  EXPECT_EQ(ids_of("ID  QUEUE\n" + kOne + "  a b c\n\n" + kTwo + "\n"), both);
  EXPECT_EQ(ids_of("{\"id\":\"" + kOne + "\",\"payload\":{\"s\":\"}\\\"]{\"}}\n{\"job_id\":\"" +
                   kTwo + "\"}"),
            both);
  EXPECT_EQ(ids_of("[{\"id\":\"" + kOne + "\"},\n{\"id\":\"" + kTwo + "\"}]\n"), both);
  EXPECT_EQ(ids_of("{\"jobs\":[{\"id\":\"" + kOne + "\"},{\"id\":\"" + kTwo + "\"}]}"), both);
  EXPECT_EQ(ids_of("[\"" + kOne + "\",\n\"" + kTwo + "\"]\n"), both);
  EXPECT_EQ(ids_of("\"" + kOne + "\"\n\"" + kTwo + "\"\n"), both);
  EXPECT_TRUE(ids_of("").empty());
  EXPECT_TRUE(ids_of("[]\n").empty());
}

TEST(Ids, RefusesTheRest) {
  const std::vector<std::string> refused = {"refused"};
  for (const std::string& text :
       {kOne + "\nnonsense\n", "{\"id\":\"" + kOne + "\"", "[{\"id\":\"" + kOne + "\"},",
        std::string("{\"id\":7}"), std::string("[\"" + kOne), std::string("[\"nonsense\"]"),
        "{\"id\":\"" + kOne + "\"} x", std::string("[]]"), std::string("ID\nID\n")})
    EXPECT_EQ(ids_of(text), refused) << text;
}

TEST(Times, AreReadInManyForms) {
  const auto at = [](const char* text) { return time_argument(text, "--x").value_or("refused"); };
  EXPECT_EQ(at("2026-02-10"), "2026-02-10T00:00:00.000Z");
  EXPECT_EQ(at("2026-02-10T15:04:05+05:30"), "2026-02-10T09:34:05.000Z");
  EXPECT_EQ(at("2026-02-10 15:04:05"), "2026-02-10T15:04:05.000Z");
  EXPECT_LT(at("2h"), at("1h"));
  EXPECT_EQ(at("noon"), "refused");
  EXPECT_EQ(at(""), "");
}

TEST(Times, WhatLiesAheadIsCountedByTheServer) {
  const auto later = [](const char* text) {
    const auto read = later_argument(text, "--x");
    return read ? read->at + "|" + read->delay : "refused";
  };
  EXPECT_EQ(later("2h"), "|2h");
  EXPECT_EQ(later("90"), "|90s");
  EXPECT_EQ(later("2026-02-10"), "2026-02-10T00:00:00.000Z|");
  EXPECT_EQ(later("now"), "|");
  EXPECT_EQ(later("noon"), "refused");
}

TEST(Suggest, WhatIsNear) {
  const std::vector<std::string> names = {"queue",  "queues", "search",
                                          "status", "retry",  "requeue"};
  EXPECT_EQ(nearest("serach", names), "search");
  EXPECT_EQ(nearest("quees", names), "queues");
  EXPECT_EQ(nearest("stat", names), "status");
  EXPECT_EQ(nearest("nonsense", names), "");
  EXPECT_EQ(nearest("", names), "");
}

TEST(Table, TheWidestGiveWay) {
  using Widths = std::vector<std::size_t>;
  EXPECT_EQ(fitted({30, 20, 40}, {0, 8, 8}, 94), (Widths{30, 20, 40}));
  EXPECT_EQ(fitted({30, 20, 40}, {0, 8, 8}, 80), (Widths{30, 20, 26}));
  EXPECT_EQ(fitted({30, 50, 40}, {0, 8, 8}, 80), (Widths{30, 23, 23}));
  EXPECT_EQ(fitted({30, 5, 40}, {0, 8, 8}, 40), (Widths{30, 5, 8}));
  EXPECT_EQ(fitted({}, {}, 40), Widths{});
}

TEST(Texts, AreForPeople) {
  EXPECT_EQ(count(0), "0");
  EXPECT_EQ(count(1234567), "1,234,567");
  EXPECT_EQ(count(-1234), "-1,234");
  EXPECT_EQ(length(850), "850ms");
  EXPECT_EQ(length(1500), "1.5s");
  EXPECT_EQ(length(250'000), "4m10s");
  EXPECT_EQ(length(7'200'000), "2h");
  EXPECT_EQ(printable("a\x1b[31mb\nc"), "a\\u001b[31mb c");
  EXPECT_EQ(brief("äöü", 2), "ä…");
  EXPECT_EQ(Progress::line("retry", 50, 200, 5, 200),
            "retry ██████░░░░░░░░░░░░░░░░░░  25%  50/200  10.0/s  15s left");
}

}  // namespace
}  // namespace jobbie::cli
