// Widths in characters, colours only where they are wanted.
#include "cli/print.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

#include "base/rfc3339.hpp"

namespace jobbie::cli {
namespace {

constexpr std::string_view kEllipsis = "…";
/// A column is not cut any further.
constexpr std::size_t kNarrowest = 8;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

/// The first `most` characters, the last of them an ellipsis if some were left out.
std::string cut_to(std::string_view text, std::size_t most) {
  if (characters(text) <= most) return std::string(text);
  std::string out;
  std::size_t taken = 0;
  for (const char c : text) {
    if (begins_character(c) && ++taken >= most) break;
    out.push_back(c);
  }
  return out.append(kEllipsis);
}

std::string_view escape_of(Style style) {
  switch (style) {
    case Style::dim:
      return "\x1b[2m";
    case Style::bold:
      return "\x1b[1m";
    case Style::good:
      return "\x1b[32m";
    case Style::warn:
      return "\x1b[33m";
    case Style::bad:
      return "\x1b[31m";
    case Style::plain:
      break;
  }
  return "";
}

std::string padded(const std::string& text, std::size_t shown, std::size_t width, bool right) {
  const std::string space(width > shown ? width - shown : 0, ' ');
  return right ? space + text : text + space;
}

}  // namespace

std::string styled(const Session& session, const Cell& cell) {
  if (!session.color() || cell.style == Style::plain) return cell.text;
  return std::string(escape_of(cell.style)) + cell.text + "\x1b[0m";
}

Style style_of_state(std::string_view state) {
  if (state == "dead" || state == "failed") return Style::bad;
  if (state == "retrying" || state == "cancelled" || state == "paused") return Style::warn;
  if (state == "active" || state == "completed" || state == "running") return Style::good;
  return Style::plain;
}

std::vector<std::size_t> fitted(std::vector<std::size_t> widths,
                                const std::vector<std::size_t>& floors, std::size_t limit) {
  std::size_t total = widths.empty() ? 0 : 2 * (widths.size() - 1);
  for (const std::size_t width : widths) total += width;
  while (total > limit) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (floors[i] > 0 && widths[i] > floors[i] &&
          (widest == widths.size() || widths[i] >= widths[widest]))
        widest = i;
    if (widest == widths.size()) break;
    --widths[widest];
    --total;
  }
  return widths;
}

void Table::print(const Session& session, bool head) const {
  std::vector<std::size_t> widths, floors;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::size_t name = characters(columns_[i].name);
    std::size_t width = head ? name : 0;
    for (const auto& row : rows_) width = std::max(width, characters(printable(row[i].text)));
    widths.push_back(width);
    const bool fixed = columns_[i].right || columns_[i].whole;
    floors.push_back(fixed ? 0 : std::max(name, kNarrowest));
  }
  if (session.out_is_terminal())
    widths = fitted(std::move(widths), floors, static_cast<std::size_t>(session.width()));
  const auto line = [&](const auto& cell_of) {
    std::string out;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const bool last = i + 1 == columns_.size();
      Cell cell = cell_of(i);
      cell.text = cut_to(printable(cell.text), widths[i]);
      const std::size_t shown = characters(cell.text);
      const std::string text = styled(session, cell);
      out += last && !columns_[i].right ? text : padded(text, shown, widths[i], columns_[i].right);
      if (!last) out += "  ";
    }
    while (out.ends_with(' ')) out.pop_back();
    fmt::print("{}\n", out);
  };
  if (head) line([&](std::size_t i) { return Cell{columns_[i].name, Style::bold}; });
  for (const auto& row : rows_) line([&](std::size_t i) { return row[i]; });
}

void Facts::add(std::string name, std::string value, Style style) {
  lines_.emplace_back(std::move(name), Cell{std::move(value), style});
}

void Facts::add_if(std::string name, const client::Json& value) {
  if (value.is_null() || value.raw() == "[]" || value.raw() == "{}" || value.raw() == "false")
    return;
  const bool scalar = !value.is_array() && !value.is_object();
  add(std::move(name), scalar ? value.text() : std::string(value.raw()));
}

void Facts::print(const Session& session) const {
  std::size_t width = 0;
  for (const auto& [name, cell] : lines_) width = std::max(width, characters(name));
  for (const auto& [name, cell] : lines_) {
    const Cell shown{printable(cell.text), cell.style};
    fmt::print("{}  {}\n", padded(name, characters(name), width, false), styled(session, shown));
  }
}

std::string count(std::int64_t n) {
  std::string digits = std::to_string(n);
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string job_count(std::int64_t n) { return count(n) + (n == 1 ? " job" : " jobs"); }

std::string length(std::int64_t ms) {
  if (ms < 0) return "0s";
  if (ms < 1000) return fmt::format("{}ms", ms);
  const std::int64_t s = ms / 1000;
  if (s < 10 && ms % 1000 >= 100) return fmt::format("{}.{}s", s, ms % 1000 / 100);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600)
    return s % 60 == 0 ? fmt::format("{}m", s / 60) : fmt::format("{}m{}s", s / 60, s % 60);
  if (s < 86'400)
    return s / 60 % 60 == 0 ? fmt::format("{}h", s / 3600)
                            : fmt::format("{}h{}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d", s / 86'400);
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string ago(std::string_view rfc3339) {
  const auto at = base::parse_rfc3339(rfc3339);
  if (!at) return "–";
  const std::int64_t passed = now_ms() - at->ms;
  if (passed < 0) return "in " + length(-passed);
  if (passed < 1000) return "now";
  return length(passed / 1000 * 1000) + " ago";
}

std::string rate(double per_second) {
  if (per_second <= 0) return "0";
  if (per_second < 10) return fmt::format("{:.2f}", per_second);
  if (per_second < 100) return fmt::format("{:.1f}", per_second);
  return count(static_cast<std::int64_t>(per_second + 0.5));
}

std::string indented(const client::Json& json, int depth) {
  const std::string inner(static_cast<std::size_t>(depth + 1) * 2, ' ');
  const std::string outer(static_cast<std::size_t>(depth) * 2, ' ');
  std::string out;
  if (json.is_object() && !json.members().empty()) {
    for (const auto& [name, value] : json.members())
      out += (out.empty() ? "{\n" : ",\n") + inner + base::printable_json(client::quoted(name)) +
             ": " + indented(value, depth + 1);
    return out + "\n" + outer + "}";
  }
  if (json.is_array() && !json.items().empty()) {
    for (const auto& value : json.items())
      out += (out.empty() ? "[\n" : ",\n") + inner + indented(value, depth + 1);
    return out + "\n" + outer + "]";
  }
  return base::printable_json(json.raw());
}

std::string brief(std::string_view text, std::size_t most) { return cut_to(printable(text), most); }

void print_ndjson(const client::Json& list) {
  for (const auto& item : list.items()) print_json(item.raw());
}

std::string json_text(std::string_view json) {
  static const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  return terminal ? base::printable_json(json) : std::string(json);
}

void print_json(std::string_view json) { fmt::print("{}\n", json_text(json)); }

}  // namespace jobbie::cli
