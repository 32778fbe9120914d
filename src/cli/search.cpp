// `search`: every filter, a page on a terminal, everything on a pipe.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.hpp"
#include "cli/commands.hpp"
#include "cli/filters.hpp"
#include "cli/print.hpp"
#include "cli/times.hpp"

namespace jobbie::cli {
namespace {

constexpr std::int64_t kSearchPage = 1000;
constexpr std::int64_t kOnTerminal = 50;

struct SearchArguments {
  Filters filters;
  std::string sort, order;
  std::int64_t limit = 0;
  bool all = false, ids = false, only_count = false;
};

/// Prints jobs as they come: a table a page, one array over all pages, or lines.
class JobPrinter {
 public:
  JobPrinter(const Session& session, bool ids) : session_(session), ids_(ids) {}

  void page(const std::vector<client::Json>& jobs) {
    Table table(
        {kIdColumn, {"QUEUE"}, {"STATE"}, {"ATTEMPT", true}, {"CREATED", true}, {"DETAIL"}});
    for (const auto& job : jobs) {
      const std::string_view raw = ids_ ? job["id"].raw() : job.raw();
      if (session_.output() == Output::json) {
        // One array, so that jq can sort and group all of it; one job a line, so that it streams.
        fmt::print("{}{}", printed_ == 0 ? "[" : ",\n", json_text(raw));
      } else if (session_.output() == Output::ndjson) {
        print_json(raw);
      } else if (ids_) {
        fmt::print("{}\n", job["id"].text());
      } else {
        table.add(row(job));
      }
      ++printed_;
    }
    if (!table.empty()) table.print(session_, !headed_);
    headed_ = headed_ || !table.empty();
  }

  void finish() const {
    if (session_.output() == Output::json) fmt::print("{}", printed_ == 0 ? "[]\n" : "]\n");
  }
  std::int64_t printed() const { return printed_; }

 private:
  static std::vector<Cell> row(const client::Json& job) {
    const std::string state = job["state"].text();
    const std::string error = job["last_error"].text();
    return {{job["id"].text()},
            {job["queue"].text()},
            {state, style_of_state(state)},
            {job["attempt"].text() + "/" + job["max_retries"].text()},
            {ago(job["created_at"].text())},
            {error.empty() ? brief(job["payload"].raw(), 60) : brief(error, 80), Style::dim}};
  }

  const Session& session_;
  bool ids_;
  bool headed_ = false;
  std::int64_t printed_ = 0;
};

client::Result<client::Document> search_page(Session& session, const std::string& filter,
                                             const SearchArguments& a, std::int64_t limit,
                                             const std::string& cursor) {
  std::string body = filter;
  const auto set = [&](const char* name, const std::string& json) {
    body = base::json::with_member(body, name, json).value_or(body);
  };
  set("limit", std::to_string(limit));
  if (!a.sort.empty()) set("sort", client::quoted(a.sort));
  if (!a.order.empty()) set("order", client::quoted(a.order));
  if (!cursor.empty()) set("cursor", client::quoted(cursor));
  return session.call({.method = "POST",
                       .target = "/api/v1/jobs/search",
                       .body = std::move(body),
                       .repeatable = true});
}

std::string total_of(const client::Document& page) {
  return ((page)["total_is_at_least"].boolean() ? "more than " : "") +
         count(page["total"].integer());
}

int print_count(Session& session, const std::string& filter, const SearchArguments& a) {
  const auto page = search_page(session, filter, a, 1, "");
  if (!page) return session.fail(page.error());
  if (session.json()) {
    fmt::print("{{\"total\":{},\"total_is_at_least\":{}}}\n", (*page)["total"].raw(),
               (*page)["total_is_at_least"].boolean());
  } else if (session.out_is_terminal()) {
    fmt::print("{}\n", total_of(*page));
  } else {
    // Programs read digits.
    fmt::print("{}\n", (*page)["total"].integer());
    if ((*page)["total_is_at_least"].boolean()) session.note("there are more than that");
  }
  return kDone;
}

int search(Session& session, const SearchArguments& a) {
  const auto filter = filter_json(a.filters);
  if (!filter) return session.fail(filter.error());
  if (a.only_count) return print_count(session, *filter, a);
  std::int64_t left = a.limit;
  if (left == 0) left = a.all || !session.out_is_terminal() ? INT64_MAX : kOnTerminal;
  JobPrinter printer(session, a.ids);
  std::string cursor;
  std::string total;
  bool more = true;
  while (more && left > 0) {
    auto page = search_page(session, *filter, a, std::min(left, kSearchPage), cursor);
    if (!page) return session.fail(page.error());
    const auto& jobs = (*page)["jobs"].items();
    printer.page(jobs);
    left -= static_cast<std::int64_t>(jobs.size());
    cursor = (*page)["cursor"].text();
    more = (*page)["has_more"].boolean() && !cursor.empty();
    if (total.empty()) total = total_of(*page);
  }
  printer.finish();
  if (printer.printed() == 0) {
    if (!session.json()) session.note("no jobs match");
  } else if (more) {
    session.note(
        fmt::format("{} of {} jobs; --all or --limit N for more", count(printer.printed()), total));
  }
  return kDone;
}

}  // namespace

void add_search_commands(Commands& commands) {
  auto a = std::make_shared<SearchArguments>();
  CLI::App* c =
      commands.add(commands.app(), "search", "Search jobs",
                   "  jobbie search --queue emails.send --state dead\n"
                   "  jobbie search --queue emails.send --payload-contains \"user@example.com\"\n"
                   "  jobbie search --queue emails.send --payload-jq '.amount > 100'\n"
                   "  jobbie search --tag tenant=acme-corp --state pending\n"
                   "  jobbie search --error-contains \"SMTP\" --created-after 2026-02-10\n"
                   "  jobbie search --queue emails.send --state dead | jobbie bulk retry\n"
                   "  jobbie search --state dead --output json | jq 'group_by(.queue) | "
                   "map({queue: .[0].queue, count: "
                   "length})'");
  add_filters(c, a->filters);
  c->add_option("--sort", a->sort, "created_at, scheduled_at, priority, attempt and others");
  c->add_option("--order", a->order, "desc or asc")->check(CLI::IsMember({"desc", "asc"}));
  c->add_option("--limit", a->limit, "Most jobs (on a terminal 50, else all)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  c->add_flag("--all", a->all, "All of them, on a terminal too");
  c->add_flag("--ids", a->ids, "Ids alone");
  c->add_flag("--count", a->only_count, "Only how many");
  commands.on(c, [a](Session& session) { return search(session, *a); });
}

}  // namespace jobbie::cli
