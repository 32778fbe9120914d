// A filter as SQL over job_rows, with every value bound.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "search/filter.hpp"
#include "search/text_finder.hpp"

namespace jobbie::search {

using Bind = std::variant<std::int64_t, std::string>;

/// Whether an error stands in a group; the text is queue, line feed, error.
struct ErrorGroupFinder {
  std::uint64_t fingerprint = 0;
};

/// Whether a queue's name fits a glob. SQLite's own GLOB takes time that is exponential in the
/// number of stars.
struct QueueGlob {
  std::string pattern;
};

/// What a row is asked that SQL has no words for: `holds(number, text)` in the SQL.
using Predicate = std::variant<Jq, TextFinder, ErrorGroupFinder, QueueGlob>;
/// Any answer where the budget is over.
[[nodiscard]] bool holds(const Predicate& predicate, std::string_view text, Budget& budget);

/// The sequences that can match at all, both ends included. Ids, and with them moments of creation,
/// rise with the sequence: who knows the rows turns `created` into such a range, and translate()
/// says nothing more of it.
struct SequenceRange {
  std::uint64_t first = 0;
  std::uint64_t last = base::kMaxSequence;
};

struct Where {
  std::string sql;  ///< a condition on `j`, a row of job_rows
  std::vector<Bind> binds;
  std::vector<Predicate> predicates;
  /// Only columns that stand in an index are looked at, so that counting is cheap.
  bool indexed = true;
};

/// How the rows are best found.
enum class Path : std::uint8_t {
  index,  ///< SQLite's choice
  table,  ///< in the order of creation: matches are dense, or the range is short
};

/// `after` and `range` add to the filter.
[[nodiscard]] Where translate(const Request& request, const SequenceRange& range, Path path);
/// The part of a filter that an index answers.
[[nodiscard]] Filter indexed_part(const Filter& filter);
/// Whether an index has the matches of that part in the order of creation.
[[nodiscard]] bool comes_in_order(const Filter& filter);
/// What the rows are sorted by, as SQL.
[[nodiscard]] std::string sort_key(Sort sort);

}  // namespace jobbie::search
