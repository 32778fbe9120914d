// Puts the parts of the screen together.
#include "tui/screen.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/terminal_text.hpp"
#include "tui/lists.hpp"

namespace jobbie::tui {
namespace {

const char* const kHelp[] = {
    "Tab, 1-4      queues, workers, jobs, events",
    "Up, Down, j, k, PgUp, PgDn, g, G      move",
    "Enter         open: the jobs of a queue or worker, a job",
    "Esc, Left     back",
    "/             show only what contains a text",
    "Space         mark; what follows is done to all that are marked",
    "p             pause or resume a queue",
    "s             next state of the jobs that are listed",
    "r             retry a job that has ended",
    "C             cancel a job",
    "D             delete a job",
    ":             a command: pause Q, resume Q, retry ID, cancel ID, delete ID, job ID,",
    "              queue Q, state S, quit",
    "q             quit",
};

std::int64_t sum(const std::vector<QueueRow>& queues, std::int64_t QueueRow::*field) {
  return std::accumulate(queues.begin(), queues.end(), std::int64_t{0},
                         [&](std::int64_t n, const QueueRow& row) { return n + row.*field; });
}

/// The mean of the latest ten seconds.
double recent(const std::vector<double>& values) {
  const auto n = std::min<std::size_t>(values.size(), 10);
  if (n == 0) return 0;
  return std::accumulate(values.end() - static_cast<std::ptrdiff_t>(n), values.end(), 0.0) /
         static_cast<double>(n);
}

Line title(const Snapshot& s, int columns) {
  const std::string left = " jobbie top  " + s.url + "  " + s.cluster;
  const int room = columns - width_of(s.clock) - 2;
  return {{fit(left, room) + " " + s.clock + " ", Ink::title}};
}

Line sparks(const Snapshot& s, int columns, Charset charset) {
  const int third = columns / 3;
  const auto part = [&](const char* name, const std::vector<double>& values, Ink ink, Line& line) {
    const std::string label = fmt::format(" {} {}/s ", name, short_rate(recent(values)));
    line.push_back({label, Ink::plain});
    line.push_back(
        {fit(sparkline(values, third - width_of(label) - 1, charset), third - width_of(label)),
         ink});
  };
  Line line;
  part("in", s.enqueued, Ink::plain, line);
  part("done", s.completed, Ink::good, line);
  part("failed", s.failed, Ink::bad, line);
  return line;
}

Line totals(const Snapshot& s) {
  const std::int64_t dead = sum(s.queues, &QueueRow::dead);
  Line line = {
      {fmt::format(" {} pending  {} active  {} scheduled  {} retrying  ",
                   sum(s.queues, &QueueRow::pending), sum(s.queues, &QueueRow::active),
                   sum(s.queues, &QueueRow::scheduled), sum(s.queues, &QueueRow::retrying)),
       Ink::plain},
      {fmt::format("{} dead", dead), dead > 0 ? Ink::bad : Ink::plain}};
  if (!s.wait_p95.empty())
    line.push_back({fmt::format("  p95 wait {} run {}", s.wait_p95, s.run_p95), Ink::dim});
  return line;
}

Line tabs(const Look& look) {
  Line line;
  const auto tab = [&](View view, const char* text) {
    const bool on = look.view == view || (look.view == View::job && look.back == view);
    line.push_back(
        {on ? fmt::format(" [{}]", text) : fmt::format("  {} ", text), on ? Ink::head : Ink::dim});
  };
  tab(View::queues, "1 Queues");
  tab(View::workers, "2 Workers");
  tab(View::jobs, "3 Jobs");
  tab(View::events, "4 Events");
  std::string scope;
  if (look.view == View::jobs) {
    if (!look.queue.empty()) scope += "  queue " + look.queue;
    if (!look.worker.empty()) scope += "  worker " + look.worker;
    scope += "  " + (look.state.empty() ? std::string("live") : look.state);
  }
  if (!look.filter.empty()) scope += "  /" + look.filter;
  line.push_back({scope, Ink::plain});
  return line;
}

Line prompt(const Snapshot& s, const Look& look) {
  switch (look.prompt) {
    case Prompt::filter:
      return {{"/" + look.input + "_", Ink::plain}};
    case Prompt::command:
      return {{":" + look.input + "_", Ink::plain}};
    case Prompt::confirm:
      return {{look.message + " [y/N]", Ink::warn}};
    case Prompt::none:
      break;
  }
  if (!s.trouble.empty()) return {{s.trouble, Ink::bad}};
  return {{look.message, Ink::plain}};
}

Line footer(const Look& look) {
  switch (look.view) {
    case View::queues:
      return {{" Enter jobs  p pause/resume  / filter  : command  Tab view  ? help  q quit",
               Ink::head}};
    case View::workers:
      return {{" Enter jobs  / filter  : command  Tab view  ? help  q quit", Ink::head}};
    case View::jobs:
      return {
          {" Enter open  Space mark  s state  r retry  C cancel  D delete  / filter  ? help  q "
           "quit",
           Ink::head}};
    case View::events:
      return {{" Enter open  / filter  : command  Tab view  ? help  q quit", Ink::head}};
    case View::job:
      return {
          {" Esc back  r retry  C cancel  D delete  Up/Down scroll  ? help  q quit", Ink::head}};
    case View::help:
      break;
  }
  return {{" Esc back  q quit", Ink::head}};
}

void cut_lines(std::vector<Line>& lines, int columns) {
  for (Line& line : lines) {
    int left = columns;
    for (Span& span : line) {
      // All that is shown comes by here, and much of it was written by others.
      span.text = base::printable(span.text);
      if (width_of(span.text) > left) span.text = fit(span.text, left);
      left = std::max(0, left - width_of(span.text));
    }
  }
}

std::vector<Line> scrolled(const std::vector<std::string>& texts, int scroll, int rows) {
  std::vector<Line> lines;
  const int most = std::max(0, static_cast<int>(texts.size()) - rows);
  const int from = std::clamp(scroll, 0, most);
  for (int i = from; i < static_cast<int>(texts.size()) && i - from < rows; ++i)
    lines.push_back({{" " + texts[static_cast<std::size_t>(i)], Ink::plain}});
  return lines;
}

}  // namespace

std::vector<Line> render(const Snapshot& snapshot, const Look& look, Size size, Charset charset) {
  constexpr int kTop = 4;
  constexpr int kBottom = 2;
  const int body = std::max(0, size.rows - kTop - kBottom);
  std::vector<Line> lines = {title(snapshot, size.columns), sparks(snapshot, size.columns, charset),
                             totals(snapshot), tabs(look)};
  std::vector<Line> middle;
  if (look.view == View::help) {
    middle = scrolled({std::begin(kHelp), std::end(kHelp)}, look.scroll, body);
  } else if (look.view == View::job) {
    middle = scrolled(snapshot.detail, look.scroll, body);
  } else {
    middle = list_lines(snapshot, look, {.columns = size.columns, .rows = body});
  }
  middle.resize(static_cast<std::size_t>(body));
  lines.insert(lines.end(), middle.begin(), middle.end());
  lines.push_back(prompt(snapshot, look));
  lines.push_back({{fit(text_of(footer(look)), size.columns), Ink::head}});
  lines.resize(static_cast<std::size_t>(std::max(size.rows, 0)));
  cut_lines(lines, size.columns);
  return lines;
}

std::vector<Line> render_once(const Snapshot& snapshot, int columns, Charset charset) {
  std::vector<Line> lines = {title(snapshot, columns), sparks(snapshot, columns, charset),
                             totals(snapshot)};
  for (const View view : {View::queues, View::workers}) {
    lines.emplace_back();
    Look look;
    look.view = view;
    const auto rows = static_cast<int>(listed(snapshot, look).size()) + 2;
    for (Line& line : list_lines(snapshot, look, {.columns = columns, .rows = rows}))
      lines.push_back(std::move(line));
  }
  cut_lines(lines, columns);
  return lines;
}

}  // namespace jobbie::tui
