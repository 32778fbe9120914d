// Who may come by which name.
#include "ui/host_names.hpp"

#include <gtest/gtest.h>

namespace jobbie::ui {
namespace {

TEST(HostNames, AddressesAndLocalNamesAreOurOwn) {
  for (const char* host :
       {"", "localhost", "LOCALHOST:8080", "localhost.", "127.0.0.1:8080", "10.1.2.3", "[::1]:8080",
        "[::1]", "jobbie", "queue:80", "a.localhost:8080", "a.LocalHost."})
    EXPECT_TRUE(is_own_name(host)) << host;
  for (const char* host :
       {"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example",
        "evillocalhost.example", ".localhost", "1.2.3.4.nip.io"})
    EXPECT_FALSE(is_own_name(host)) << host;
}

bool foreign(std::vector<http::Header> headers, const std::vector<std::string>& allowed = {}) {
  http::Request request;
  request.headers = headers;
  return is_foreign_name(request, allowed);
}

TEST(HostNames, BrowsersComeByOurNamesOnly) {
  const http::Header evil{"host", "evil.example:8080"};
  EXPECT_TRUE(foreign({evil, {"accept-language", "de"}}));
  EXPECT_TRUE(foreign({evil, {"origin", "http://evil.example:8080"}}));
  EXPECT_TRUE(foreign({evil, {"referer", "http://evil.example:8080/"}}));
  EXPECT_TRUE(foreign({evil, {"sec-fetch-site", "same-origin"}}));
  EXPECT_TRUE(foreign({evil, {"user-agent", "Mozilla/5.0 (X11)"}}));
  EXPECT_FALSE(foreign({{"host", "localhost:8080"}, {"accept-language", "de"}}));
  EXPECT_FALSE(foreign({evil, {"user-agent", "curl/7.88.1"}})) << "programs name whom they like";
}

TEST(HostNames, OthersAreAllowedByTheOperator) {
  const std::vector<std::string> allowed = {"jobs.example.com"};
  EXPECT_FALSE(foreign({{"host", "Jobs.example.com"}, {"accept-language", "de"}}, allowed));
  EXPECT_FALSE(foreign({{"host", "jobs.example.com:443"}, {"accept-language", "de"}}, allowed));
  EXPECT_TRUE(foreign({{"host", "x.jobs.example.com"}, {"accept-language", "de"}}, allowed));
}

}  // namespace
}  // namespace jobbie::ui
