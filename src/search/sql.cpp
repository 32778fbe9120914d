// One condition for each field of the filter.
#include "search/sql.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/glob.hpp"
#include "model/error_pattern.hpp"

namespace jobbie::search {
namespace {

std::int64_t low_bits(std::uint64_t word) { return static_cast<std::int64_t>(word & 0xffffffffU); }

class Translator {
 public:
  explicit Translator(Path path) : path_(path) {}

  void condition(std::string_view sql) {
    if (!out_.sql.empty()) out_.sql += " AND ";
    out_.sql += sql;
  }
  /// The parameter that stands for the value.
  std::string bind(Bind value) {
    out_.binds.push_back(std::move(value));
    return "?" + std::to_string(out_.binds.size());
  }
  void compare(std::string_view left, std::string_view sign, Bind value) {
    condition(std::string(left) + " " + std::string(sign) + " " + bind(std::move(value)));
  }
  /// A column that stands in no index.
  void compare_row(std::string_view left, std::string_view sign, Bind value) {
    out_.indexed = false;
    compare(left, sign, std::move(value));
  }
  void text(std::string_view column, const std::string& wanted) {
    if (!wanted.empty()) compare_row(column, "=", wanted);
  }
  void period(std::string_view column, const Period& period) {
    if (period.after.ms != 0) compare_row(column, ">", period.after.ms);
    if (period.before != base::kNever) compare_row(column, "<", period.before.ms);
  }
  std::string predicate(Predicate predicate, std::string_view column) {
    out_.indexed = false;
    return indexed_predicate(std::move(predicate), column);
  }
  /// Of a column that stands in an index.
  std::string indexed_predicate(Predicate predicate, std::string_view column) {
    out_.predicates.push_back(std::move(predicate));
    return "holds(" + std::to_string(out_.predicates.size() - 1) + ", " + std::string(column) + ")";
  }

  void queue(const std::string& queue) {
    if (queue.empty()) return;
    if (!base::is_glob(queue)) return compare(indexed("j.queue"), "=", queue);
    if (queue == "*") return;
    std::string prefix = queue.substr(0, queue.find_first_of("*?"));
    if (!prefix.empty()) {
      compare(indexed("j.queue"), ">=", prefix);
      ++prefix.back();  // names are ASCII
      compare(indexed("j.queue"), "<", std::move(prefix));
    }
    condition(indexed_predicate(QueueGlob{queue}, "j.queue"));
  }

  void states(const Filter& filter) {
    const auto& states = filter.states;
    if (states.empty()) {
      // The index begins with the state.
      if (!filter.queue.empty() && path_ == Path::index)
        condition("j.state IN (0, 1, 2, 3, 4, 5, 6, 7)");
      return;
    }
    std::string list;
    for (const auto state : states) {
      if (!list.empty()) list += ", ";
      list += std::to_string(static_cast<int>(state));
    }
    condition(indexed("j.state") + (states.size() == 1 ? " = " + list : " IN (" + list + ")"));
    // These let an index give the rows in the order of creation.
    if (path_ == Path::index && comes_in_order(filter))
      condition(filter.queue.empty() ? "j.state != 2" : "j.ended_at IS NULL");
  }

  void ids(const std::vector<base::JobId>& ids) {
    std::string sequences;
    std::string whole;
    for (const auto& id : ids) {
      const auto sequence = std::to_string(id.sequence());
      sequences.append(sequences.empty() ? "" : ", ").append(sequence);
      whole.append(whole.empty() ? "(" : ", (").append(sequence).append(", ");
      whole.append(std::to_string(id.ulid.time().ms)).append(", ");
      whole.append(std::to_string(low_bits(id.ulid.low))).append(")");
    }
    condition("j.seq IN (" + sequences + ")");
    if (!ids.empty()) condition("(j.seq, j.created_at, j.id_random) IN (VALUES " + whole + ")");
  }

  void id_range(const IdRange& range) {
    out_.indexed = false;
    const auto end = [&](std::string_view sign, const base::Ulid& ulid) {
      std::string sql = "(j.created_at, j.seq, j.id_random) ";
      sql.append(sign).append(" (").append(bind(ulid.time().ms)).append(", ");
      sql.append(bind(static_cast<std::int64_t>(ulid.sequence()))).append(", ");
      sql.append(bind(low_bits(ulid.low))).append(")");
      condition(sql);
    };
    end(">=", range.first);
    end("<=", range.last);
  }

  void place(const Request& request) {
    if (!request.after) return;
    const auto sequence = static_cast<std::int64_t>(request.after->sequence);
    const std::string_view sign = request.order == Order::asc ? ">" : "<";
    if (request.sort == Sort::created_at) return compare("j.seq", sign, sequence);
    std::string sql = "(" + sort_key(request.sort) + ", j.seq) ";
    sql.append(sign).append(" (").append(bind(request.after->key)).append(", ");
    condition(sql.append(bind(sequence)).append(")"));
  }

  void content(const Filter& filter);

  [[nodiscard]] Where take() {
    if (out_.sql.empty()) out_.sql = "1";
    return std::move(out_);
  }

 private:
  /// A plus sign before a column keeps SQLite from its index.
  [[nodiscard]] std::string indexed(std::string_view column) const {
    return (path_ == Path::table ? "+" : "") + std::string(column);
  }

  Path path_;
  Where out_;
};

/// What only the row itself tells, the cheap questions first.
void Translator::content(const Filter& filter) {
  if (filter.priority) compare_row("j.priority", "=", std::int64_t{*filter.priority});
  if (filter.attempt_min) compare_row("j.attempt", ">=", std::int64_t{*filter.attempt_min});
  if (filter.attempt_max) compare_row("j.attempt", "<=", std::int64_t{*filter.attempt_max});
  period("j.scheduled_at", filter.scheduled);
  period("j.started_at", filter.started);
  period("j.failed_at", filter.failed);
  period("j.expire_at", filter.expires);
  text("j.worker_id", filter.worker);
  text("j.unique_key", filter.unique_key);
  if (filter.batch) compare_row("j.batch_id", "=", filter.batch->text());
  if (filter.schedule) compare_row("j.schedule_id", "=", filter.schedule->text());
  if (filter.has_errors)
    compare_row("j.error_count", *filter.has_errors ? ">" : "=", std::int64_t{0});
  for (const auto& tag : filter.tags) condition(predicate(tag, "j.tags"));
  if (!filter.payload_contains.empty())
    condition(predicate(TextFinder(filter.payload_contains), "j.payload"));
  if (filter.payload_jq) condition(predicate(*filter.payload_jq, "j.payload"));
  if (!filter.error_contains.empty())
    condition(
        "j.errors_kept > 0 AND EXISTS (SELECT 1 FROM job_error_rows e WHERE e.job = j.seq "
        "AND " +
        predicate(TextFinder(filter.error_contains), "e.error") + ")");
  if (filter.error_group)
    condition(predicate(ErrorGroupFinder{*filter.error_group},
                        "j.queue || char(10) || coalesce((SELECT e.error FROM job_error_rows e "
                        "WHERE e.job = j.seq AND e.ordinal = j.error_count), j.end_reason, '')"));
}

bool is_of(const ErrorGroupFinder& group, std::string_view text) {
  const auto queue = text.substr(0, text.find('\n'));
  const auto error = text.substr(std::min(queue.size() + 1, text.size()));
  return model::fingerprint_of(queue, model::normalise_error(error)) == group.fingerprint;
}

}  // namespace

bool holds(const Predicate& predicate, std::string_view text, Budget& budget) {
  // Getting the text out of the file costs something too, and so does asking.
  constexpr std::uint64_t kStepsOfCall = 64;
  if (!budget.spend(kStepsOfCall + text.size() / 8)) return false;
  if (const auto* jq = std::get_if<Jq>(&predicate)) return jq->matches(text, budget);
  if (const auto* finder = std::get_if<TextFinder>(&predicate)) return finder->in(text, budget);
  if (const auto* glob = std::get_if<QueueGlob>(&predicate)) {
    budget.spend(glob->pattern.size() * text.size());
    return base::glob_match(glob->pattern, text);
  }
  // Of quoted texts within an error each may be looked at to its end.
  budget.spend(model::kTellingBytes * 16);
  return is_of(std::get<ErrorGroupFinder>(predicate), text);
}

Where translate(const Request& request, const SequenceRange& range, Path path) {
  const Filter& filter = request.filter;
  Translator to(path);
  if (filter.nothing) to.condition("0");
  if (range.first > 0) to.compare("j.seq", ">=", static_cast<std::int64_t>(range.first));
  if (range.last < base::kMaxSequence)
    to.compare("j.seq", "<=", static_cast<std::int64_t>(range.last));
  if (filter.ids) to.ids(*filter.ids);
  to.queue(filter.queue);
  to.states(filter);
  if (!filter.group.empty()) to.compare("j.group_name", "=", filter.group);
  if (filter.completed.given()) {
    to.condition("j.state = 5");
    if (filter.completed.after.ms != 0) to.compare("j.ended_at", ">", filter.completed.after.ms);
    if (filter.completed.before != base::kNever)
      to.compare("j.ended_at", "<", filter.completed.before.ms);
  }
  if (filter.id_range) to.id_range(*filter.id_range);
  to.place(request);
  to.content(filter);
  return to.take();
}

Filter indexed_part(const Filter& filter) {
  Filter part;
  part.queue = filter.queue;
  part.states = filter.states;
  part.group = filter.group;
  part.completed = filter.completed;
  part.ids = filter.ids;
  part.nothing = filter.nothing;
  return part;
}

bool comes_in_order(const Filter& filter) {
  if (filter.states.size() != 1 || filter.ids || !filter.group.empty() || filter.completed.given())
    return false;
  const auto state = filter.states.front();
  if (filter.queue.empty()) return state != model::State::pending;
  return !base::is_glob(filter.queue) && !model::has_ended(state);
}

std::string sort_key(Sort sort) {
  switch (sort) {
    case Sort::created_at:
      return "j.seq";
    case Sort::scheduled_at:
      return "ifnull(j.scheduled_at, 0)";
    case Sort::started_at:
      return "ifnull(j.started_at, 0)";
    case Sort::completed_at:
      return "CASE WHEN j.state = 5 THEN j.ended_at ELSE 0 END";
    case Sort::failed_at:
      return "ifnull(j.failed_at, 0)";
    case Sort::ended_at:
      return "ifnull(j.ended_at, 0)";
    case Sort::expire_at:
      return "ifnull(j.expire_at, 0)";
    case Sort::priority:
      return "j.priority";
    case Sort::attempt:
      return "j.attempt";
  }
  return "j.seq";
}

}  // namespace jobbie::search
