// Columns of each list; the first takes what the others leave.
#include "tui/lists.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

namespace jobbie::tui {
namespace {

struct Field {
  const char* name;
  int width;  ///< 0: the rest
  bool right = false;
};

struct Row {
  std::string key;
  std::vector<std::string> cells;
  Ink ink = Ink::plain;
};

struct List {
  std::vector<Field> fields;
  std::vector<Row> rows;
};

Ink ink_of(const std::string& state) {
  if (state == "dead" || state == "failed" || state == "lease_expired") return Ink::bad;
  if (state == "retrying" || state == "cancelled" || state == "paused" || state == "draining")
    return Ink::warn;
  if (state == "active" || state == "started") return Ink::good;
  return Ink::plain;
}

List queue_list(const Snapshot& s) {
  List list{.fields = {{"QUEUE", 0},
                       {"PENDING", 9, true},
                       {"ACTIVE", 7, true},
                       {"RETRY", 6, true},
                       {"DEAD", 6, true},
                       {"IN/S", 6, true},
                       {"DONE/S", 7, true},
                       {"OLDEST", 7, true},
                       {" STATUS", 10}},
            .rows = {}};
  for (const QueueRow& q : s.queues)
    list.rows.push_back(
        {q.name,
         {q.name, std::to_string(q.pending), std::to_string(q.active), std::to_string(q.retrying),
          std::to_string(q.dead), short_rate(q.enqueued), short_rate(q.completed),
          short_length(q.oldest_ms), " " + q.status},
         q.status.empty() ? Ink::plain : Ink::warn});
  return list;
}

List worker_list(const Snapshot& s) {
  List list{.fields = {{"WORKER", 0},
                       {"HOST", 16},
                       {"ACTIVE", 7, true},
                       {"SEEN", 6, true},
                       {"  QUEUES", 24}},
            .rows = {}};
  for (const WorkerRow& w : s.workers)
    list.rows.push_back({w.id,
                         {w.id, w.host, std::to_string(w.active),
                          short_length(w.seen_ms / 1000 * 1000), "  " + w.queues},
                         w.status.empty() ? Ink::plain : Ink::warn});
  return list;
}

List job_list(const Snapshot& s) {
  List list{.fields = {{"JOB", 31},
                       {"QUEUE", 16},
                       {"STATE", 10},
                       {"TRY", 5},
                       {"AGE", 5, true},
                       {"  DETAIL", 0}},
            .rows = {}};
  for (const JobRow& j : s.jobs)
    list.rows.push_back(
        {j.id,
         {j.id, j.queue, j.state, j.attempt, short_length(j.age_ms), "  " + j.detail},
         ink_of(j.state)});
  return list;
}

List event_list(const Snapshot& s) {
  List list{.fields = {{"AT", 13}, {"EVENT", 15}, {"JOB", 31}, {"QUEUE", 0}, {" DETAIL", 20}},
            .rows = {}};
  for (const EventRow& e : s.events)
    list.rows.push_back(
        {e.job_id, {e.at, e.type, e.job_id, e.queue, " " + e.detail}, ink_of(e.type)});
  return list;
}

bool contains(const Row& row, const std::string& text) {
  return text.empty() ||
         std::any_of(row.cells.begin(), row.cells.end(),
                     [&](const std::string& cell) { return cell.find(text) != std::string::npos; });
}

List filtered(const Snapshot& s, const Look& look) {
  List list;
  switch (look.view) {
    case View::workers:
      list = worker_list(s);
      break;
    case View::jobs:
      list = job_list(s);
      break;
    case View::events:
      list = event_list(s);
      break;
    default:
      list = queue_list(s);
      break;
  }
  std::erase_if(list.rows, [&](const Row& row) { return !contains(row, look.filter); });
  return list;
}

std::string line_of(const List& list, const std::vector<std::string>& cells, int columns) {
  int fixed = 1;
  for (const Field& field : list.fields) fixed += field.width;
  std::string out;
  for (std::size_t i = 0; i < list.fields.size(); ++i) {
    const Field& field = list.fields[i];
    const int width = field.width == 0 ? std::max(8, columns - fixed) : field.width;
    // A gap stays even where a text is too long for its column.
    out += field.right ? fit(cells[i], width, true) : fit(fit(cells[i], width - 1), width);
  }
  return out;
}

const char* empty_text(View view) {
  switch (view) {
    case View::workers:
      return "no workers have been heard of";
    case View::jobs:
      return "no jobs";
    case View::events:
      return "nothing has happened yet";
    default:
      return "no queues yet";
  }
}

}  // namespace

std::vector<std::string> listed(const Snapshot& snapshot, const Look& look) {
  std::vector<std::string> names;
  for (Row& row : filtered(snapshot, look).rows) names.push_back(std::move(row.key));
  return names;
}

std::vector<Line> list_lines(const Snapshot& snapshot, const Look& look, Size size) {
  const List list = filtered(snapshot, look);
  std::vector<std::string> heads;
  for (const Field& field : list.fields) heads.emplace_back(field.name);
  std::vector<Line> lines = {{{" " + line_of(list, heads, size.columns), Ink::head}}};
  if (list.rows.empty()) lines.push_back({{fmt::format(" {}", empty_text(look.view)), Ink::dim}});
  const int room = std::max(0, size.rows - 1);
  const auto at = std::find_if(list.rows.begin(), list.rows.end(),
                               [&](const Row& row) { return row.key == look.selected; });
  const int chosen = at == list.rows.end() ? 0 : static_cast<int>(at - list.rows.begin());
  const int first = std::max(0, chosen - room + 1);
  for (int i = first; i < static_cast<int>(list.rows.size()) && i - first < room; ++i) {
    const Row& row = list.rows[static_cast<std::size_t>(i)];
    const bool selected = !look.selected.empty() && i == chosen;
    const char* mark = look.marked.contains(row.key) ? "*" : selected ? ">" : " ";
    lines.push_back({{fit(mark + line_of(list, row.cells, size.columns), size.columns),
                      selected ? Ink::chosen : row.ink}});
  }
  return lines;
}

}  // namespace jobbie::tui
