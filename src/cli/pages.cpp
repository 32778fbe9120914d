// Follows cursors to the end of a list.
#include "cli/pages.hpp"

#include "cli/print.hpp"
#include "client/url.hpp"

namespace jobbie::cli {

client::Result<void> each_page(Session& session, const std::string& target,
                               const std::string& member,
                               const std::function<void(const client::Json&)>& row) {
  std::string cursor;
  while (true) {
    std::string page = target;
    if (!cursor.empty())
      page += (target.find('?') == std::string::npos ? "?cursor=" : "&cursor=") +
              client::encoded(cursor);
    const auto answer = session.get(page);
    if (!answer) return std::unexpected(answer.error());
    if (session.json()) {
      print_ndjson((*answer)[member]);
    } else {
      for (const auto& item : (*answer)[member].items()) row(item);
    }
    cursor = (*answer)["cursor"].text();
    if (!(*answer)["has_more"].boolean() || cursor.empty()) return {};
  }
}

}  // namespace jobbie::cli
