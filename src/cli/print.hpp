// Tables and values as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/terminal_text.hpp"
#include "cli/session.hpp"
#include "client/json.hpp"

namespace jobbie::cli {

enum class Style : std::uint8_t { plain, dim, bold, good, warn, bad };

struct Cell {
  std::string text;
  Style style = Style::plain;
};

struct Column {
  std::string name;
  bool right = false;
  bool whole = false;  ///< never cut: ids are copied from it
};

inline const Column kIdColumn{.name = "ID", .whole = true};

/// The widths of columns that fit `limit` with two spaces between them: the widest of those that
/// have a floor above zero give way, down to their floors.
std::vector<std::size_t> fitted(std::vector<std::size_t> widths,
                                const std::vector<std::size_t>& floors, std::size_t limit);

/// Rows under a head. On a terminal that is too narrow the widest texts are cut; ids and figures
/// never are, and on a pipe nothing is.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  void print(const Session& session, bool head = true) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// `name: value` lines with aligned values.
class Facts {
 public:
  void add(std::string name, std::string value, Style style = Style::plain);
  /// Only where there is one.
  void add_if(std::string name, const client::Json& value);
  void print(const Session& session) const;

 private:
  std::vector<std::pair<std::string, Cell>> lines_;
};

/// With the colours of `style` where colours are wanted. The text is printable already.
std::string styled(const Session& session, const Cell& cell);
/// Everything that others wrote goes through this before it is shown.
using base::printable;
Style style_of_state(std::string_view state);

/// 12400 → "12,400".
std::string count(std::int64_t n);
/// "1 job", "12,400 jobs".
std::string job_count(std::int64_t n);
/// "850ms", "12s", "4m10s", "3h", "12d".
std::string length(std::int64_t ms);
/// How long ago (or how far ahead) an RFC 3339 time is: "5m ago", "in 3h".
std::string ago(std::string_view rfc3339);
std::string rate(double per_second);
/// JSON for programs: as the server sent it; on a terminal with everything escaped that would make
/// it do something.
std::string json_text(std::string_view json);
/// The same, as a line.
void print_json(std::string_view json);
/// JSON on several lines, for people.
std::string indented(const client::Json& json, int depth = 0);
/// JSON in one line, cut at `most` characters.
std::string brief(std::string_view text, std::size_t most);

/// One object a line, or the table that `show` prints.
void print_ndjson(const client::Json& list);

std::int64_t now_ms();

}  // namespace jobbie::cli
