// Searching: which way through the file, and what comes out of it.
#include "store/searcher.hpp"

#include <algorithm>
#include <sqlite3.h>
#include <utility>

#include <fmt/format.h>

#include "model/limits.hpp"
#include "store/checked_file.hpp"
#include "store/job_rows.hpp"
#include "store/overlay.hpp"
#include "store/reader.hpp"

namespace jobbie::store {
namespace {

using search::Order;
using search::Path;
using search::Sort;
using Clock = std::chrono::steady_clock;

/// Steps of SQLite's machine between two looks at the clock.
constexpr int kStepsBetween = 1'000;
/// A range of so many sequences is walked, whatever index there is.
constexpr std::uint64_t kShortRange = 20'000;
/// So many are walked in a moment, and sorted in one.
constexpr std::uint64_t kManyRows = 50'000;

/// A page of large jobs ends early.
constexpr std::size_t kShownBytes = model::limits::kAnswerBytes;

/// The rule of the view `jobs`: what a sweep has condemned is gone.
constexpr std::string_view kNotSwept =
    " AND NOT EXISTS (SELECT 1 FROM sweep_rows w WHERE w.queue = j.queue AND w.state = j.state "
    "AND j.ended_at < w.before AND j.revision < w.revision)";

std::string_view text_of(sqlite3_value* value) {
  if (sqlite3_value_type(value) == SQLITE_NULL) return "null";  // as a job without a payload shows
  // As a blob, since a text would be copied to get a zero at its end.
  const auto* bytes = static_cast<const char*>(sqlite3_value_blob(value));
  return {bytes == nullptr ? "" : bytes, static_cast<std::size_t>(sqlite3_value_bytes(value))};
}

void bind_all(Statement& statement, const std::vector<search::Bind>& binds) {
  for (std::size_t i = 0; i < binds.size(); ++i) {
    const int parameter = static_cast<int>(i) + 1;
    if (const auto* number = std::get_if<std::int64_t>(&binds[i]))
      statement.bind(parameter, *number);
    else
      statement.bind_key(parameter, std::get<std::string>(binds[i]));
  }
}

/// The texts that can be long.
std::size_t shown_bytes(const model::JobRecord& job) {
  std::size_t bytes = job.spec.payload.size() + job.result.size() + job.checkpoint.size();
  for (const auto& error : job.errors) bytes += error.error.size() + error.backtrace.size();
  return bytes;
}

std::string order_by(Sort sort, Order order) {
  const std::string direction = order == Order::desc ? " DESC" : " ASC";
  if (sort == Sort::created_at) return " ORDER BY j.seq" + direction;
  return " ORDER BY " + search::sort_key(sort) + direction + ", j.seq" + direction;
}

}  // namespace

/// One state of the file, and the budget of what is asked about it.
class Searcher::Transaction final : public search::Budget {
 public:
  Transaction(Searcher& searcher, const SearchBounds& bounds)
      : searcher_(searcher), bounds_(bounds), deadline_(Clock::now() + bounds.at_most) {
    searcher_.asked_.budget = this;
    sqlite3_progress_handler(
        searcher_.connection_.handle(), kStepsBetween,
        [](void* budget) { return static_cast<Transaction*>(budget)->look() ? 0 : 1; }, this);
    begun_ = searcher_.connection_.exec("BEGIN");
  }
  ~Transaction() override {
    sqlite3_progress_handler(searcher_.connection_.handle(), 0, nullptr, nullptr);
    searcher_.asked_.budget = nullptr;
    // A read that was interrupted may have ended the transaction by itself.
    static_cast<void>(searcher_.connection_.exec("ROLLBACK"));
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  [[nodiscard]] const base::Result<void>& begun() const { return begun_; }
  /// Why it is over.
  [[nodiscard]] base::Error error() const {
    if (cancelled_)
      return {.code = std::string(kCancelled), .message = "Nobody waits for the search any more."};
    return {.code = std::string(kSearchTooSlow), .message = "The search took too long."};
  }

 private:
  bool is_used_up() override {
    cancelled_ = bounds_.is_cancelled && bounds_.is_cancelled();
    return cancelled_ || Clock::now() >= deadline_;
  }

  Searcher& searcher_;
  const SearchBounds& bounds_;
  const Clock::time_point deadline_;
  bool cancelled_ = false;
  base::Result<void> begun_;
};

/// `holds(number, text)`: asks the predicate of that number.
void Searcher::holds(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  const auto& asked = *static_cast<const Asked*>(sqlite3_user_data(context));
  const auto number = static_cast<std::size_t>(sqlite3_value_int64(values[0]));
  const bool found = number < asked.predicates.size() &&
                     search::holds(asked.predicates[number], text_of(values[1]), *asked.budget);
  // SQLite's own look at the budget may be thousands of rows away.
  if (asked.budget->over()) return sqlite3_result_error_code(context, SQLITE_INTERRUPT);
  sqlite3_result_int(context, found ? 1 : 0);
}

base::Result<void> Searcher::within(const SearchBounds& bounds,
                                    const std::function<base::Result<void>(Connection&)>& read) {
  Transaction transaction(*this, bounds);
  auto done = transaction.begun() ? read(connection_) : transaction.begun();
  // Whatever was found is not to be relied upon then, and an error is SQLite's word for it.
  if (transaction.over()) return std::unexpected(transaction.error());
  return done;
}

template <typename T, typename Ask>
base::Result<T> Searcher::answer(const SearchBounds& bounds, Ask&& ask) {
  T found;
  auto done = within(bounds, [&](Connection&) -> base::Result<void> {
    base::Result<T> result = ask();
    if (!result) return std::unexpected(std::move(result).error());
    found = *std::move(result);
    return {};
  });
  if (!done) return std::unexpected(std::move(done).error());
  return found;
}

/// What a search needs to know before it begins.
base::Result<void> Searcher::prepare_for(const search::Filter& filter) {
  auto sweeps = any_sweeps();
  if (!sweeps) return std::unexpected(std::move(sweeps).error());
  sweeps_ = *sweeps;
  auto range = range_of(filter);
  if (!range) return std::unexpected(std::move(range).error());
  range_ = *range;
  return {};
}

base::Result<std::unique_ptr<Searcher>> Searcher::open(const std::string& path,
                                                       std::size_t cache_bytes) {
  auto connection = Connection::open(path, Access::read_only, cache_bytes);
  if (!connection) return std::unexpected(std::move(connection).error());
  auto searcher = std::make_unique<Searcher>();
  searcher->connection_ = *std::move(connection);
  read_ahead(searcher->connection_);
  // SQLite keeps the address: the searcher does not move.
  if (sqlite3_create_function_v2(searcher->connection_.handle(), "holds", 2,
                                 SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
                                 &searcher->asked_, holds, nullptr, nullptr, nullptr) != SQLITE_OK)
    return std::unexpected(searcher->connection_.error());
  const std::pair<Statement*, std::string> wanted[] = {
      {&searcher->job_, "SELECT " + job_columns() + " FROM job_rows WHERE seq = ?1"},
      {&searcher->errors_, std::string(kSelectErrors)},
      {&searcher->created_,
       "SELECT seq, created_at FROM job_rows WHERE seq >= ?1 ORDER BY seq LIMIT 1"}};
  for (const auto& [statement, sql] : wanted) {
    auto prepared = searcher->connection_.prepare(sql);
    if (!prepared) return std::unexpected(std::move(prepared).error());
    *statement = *std::move(prepared);
  }
  return searcher;
}

base::Result<bool> Searcher::any_sweeps() {
  auto found = connection_.query_integer("SELECT EXISTS (SELECT 1 FROM sweep_rows)");
  if (!found) return std::unexpected(std::move(found).error());
  return *found != 0;
}

/// Moments of creation rise with the sequence, so they need no index: this is a binary search.
base::Result<std::uint64_t> Searcher::first_created_at_or_after(std::int64_t ms) {
  auto last = connection_.query_integer("SELECT ifnull(max(seq), 0) FROM job_rows");
  if (!last) return std::unexpected(std::move(last).error());
  std::uint64_t low = 0;
  std::uint64_t high = static_cast<std::uint64_t>(*last) + 1;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const ResetOnExit guard(created_);
    created_.bind(1, middle);
    const Step step = created_.step();
    if (step == Step::failed) return std::unexpected(connection_.error());
    if (step == Step::done || created_.integer(1) >= ms)
      high = middle;
    else
      low = created_.number(0) + 1;
  }
  return low;
}

base::Result<search::SequenceRange> Searcher::range_of(const search::Filter& filter) {
  search::SequenceRange range;
  const auto from = [&](std::int64_t ms) -> base::Result<void> {
    auto first = first_created_at_or_after(ms);
    if (!first) return std::unexpected(std::move(first).error());
    range.first = std::max(range.first, *first);
    return {};
  };
  const auto until = [&](std::int64_t ms) -> base::Result<void> {
    auto first = first_created_at_or_after(ms);
    if (!first) return std::unexpected(std::move(first).error());
    range.last = std::min(range.last, *first == 0 ? 0 : *first - 1);
    return {};
  };
  base::Result<void> done;
  if (filter.created.after.ms != 0) done = from(filter.created.after.ms + 1);
  if (done && filter.created.before != base::kNever) done = until(filter.created.before.ms);
  if (done && filter.id_range) done = from(filter.id_range->first.time().ms);
  if (done && filter.id_range) done = until(filter.id_range->last.time().ms + 1);
  if (!done) return std::unexpected(std::move(done).error());
  if (filter.batch) {
    // Members are made by the request that makes the batch, right behind it.
    const auto sequence = filter.batch->sequence();
    range.first = std::max(range.first, sequence + 1);
    range.last = std::min(range.last, sequence + model::limits::kJobsPerRequest);
  }
  return range;
}

base::Result<Statement> Searcher::prepare(const search::Request& request, Path path,
                                          const std::string& select, const std::string& rest) {
  if (range_.last >= range_.first && range_.last - range_.first < kShortRange) path = Path::table;
  where_ = search::translate(request, range_, path);
  asked_.predicates = std::move(where_.predicates);
  auto statement = connection_.prepare("SELECT " + select + " FROM job_rows j WHERE " + where_.sql +
                                       (sweeps_ ? std::string(kNotSwept) : std::string()) + rest);
  if (!statement) return std::unexpected(std::move(statement).error());
  bind_all(*statement, where_.binds);
  return statement;
}

base::Result<std::uint64_t> Searcher::count_up_to(const search::Request& request, Path path,
                                                  std::uint64_t most) {
  auto select = prepare(request, path, "1", " LIMIT " + std::to_string(most));
  if (!select) return std::unexpected(std::move(select).error());
  for (std::uint64_t count = 0;; ++count) {
    const Step step = select->step();
    if (step == Step::failed) return std::unexpected(connection_.error());
    if (step == Step::done) return count;
  }
}

base::Result<std::vector<Searcher::Found>> Searcher::find(const search::Request& request, Path path,
                                                          std::uint64_t most) {
  auto select = prepare(request, path, search::sort_key(request.sort) + ", j.seq",
                        order_by(request.sort, request.order) + " LIMIT " + std::to_string(most));
  if (!select) return std::unexpected(std::move(select).error());
  std::vector<Found> found;
  for (;;) {
    const Step step = select->step();
    if (step == Step::failed) return std::unexpected(connection_.error());
    if (step == Step::done) return found;
    found.push_back({.key = select->integer(0), .sequence = select->number(1)});
  }
}

/// How many match, up to one more than is counted.
base::Result<void> Searcher::count_matches(const search::Request& request, Path path,
                                           search::Page& page) {
  search::Request whole = request;
  whole.after.reset();
  auto total = count_up_to(whole, path, search::kMaxTotal + 1);
  if (!total) return std::unexpected(std::move(total).error());
  page.total = std::min(*total, search::kMaxTotal);
  page.total_is_at_least = *total > search::kMaxTotal;
  return {};
}

/// The part of the range in which there are rows; empty if its first is beyond its last.
base::Result<search::SequenceRange> Searcher::inhabited() {
  const auto first = connection_.query_integer("SELECT ifnull(min(seq), 1) FROM job_rows");
  if (!first) return std::unexpected(first.error());
  const auto last = connection_.query_integer("SELECT ifnull(max(seq), 0) FROM job_rows");
  if (!last) return std::unexpected(last.error());
  return search::SequenceRange{.first = std::max(range_.first, static_cast<std::uint64_t>(*first)),
                               .last = std::min(range_.last, static_cast<std::uint64_t>(*last))};
}

/// For conditions on the row itself: along the table, which stops when there is enough, unless the
/// index leaves few rows to look at.
base::Result<Path> Searcher::way_to_rows(const search::Request& request) {
  const auto part = search::indexed_part(request.filter);
  if (request.sort != Sort::created_at || search::comes_in_order(part)) return Path::index;
  if (part.queue.empty() && part.states.empty() && part.group.empty() && !part.ids &&
      !part.completed.given())
    return Path::table;
  const auto rows = inhabited();
  if (!rows) return std::unexpected(rows.error());
  const auto span = rows->last < rows->first ? 0 : rows->last - rows->first;
  const auto many = std::max(kManyRows, span / kRowsWalkedForOneFound);
  auto count = count_up_to({.filter = part}, Path::index, many);
  if (!count) return std::unexpected(std::move(count).error());
  return *count < many ? Path::index : Path::table;
}

/// Leaves out what comes before the first job in that state. Pending jobs are in order queue by
/// queue, all others together.
base::Result<void> Searcher::go_to_first(model::State state, Order order,
                                         search::SequenceRange& range) {
  const bool newest_first = order == Order::desc;
  const auto first_where = [&](std::string_view condition) {
    return fmt::format(
        "SELECT seq FROM job_rows WHERE {} AND seq BETWEEN ?1 AND ?2 ORDER BY seq {} LIMIT 1",
        condition, newest_first ? "DESC" : "ASC");
  };
  const auto sql =
      state == model::State::pending
          ? fmt::format("SELECT {}(({})) FROM queue_rows q", newest_first ? "max" : "min",
                        first_where("state = 2 AND queue = q.name AND ended_at IS NULL"))
          : first_where(fmt::format("state = {} AND state != 2", static_cast<int>(state)));
  auto select = connection_.prepare(sql);
  if (!select) return std::unexpected(std::move(select).error());
  select->bind(1, range.first);
  select->bind(2, range.last);
  const Step step = select->step();
  if (step == Step::failed) return std::unexpected(connection_.error());
  if (step == Step::row && !select->is_null(0))
    (newest_first ? range.last : range.first) = select->number(0);
  return {};
}

/// The first of many matches, if they stand close together: within a stretch of the table that is
/// walked in a moment. Nothing if they do not.
base::Result<std::optional<std::vector<Searcher::Found>>> Searcher::find_close(
    const search::Request& request, std::uint64_t most) {
  auto stretch = inhabited();
  if (!stretch) return std::unexpected(std::move(stretch).error());
  const bool newest_first = request.order == Order::desc;
  if (request.after) {
    auto& begin = newest_first ? stretch->last : stretch->first;
    begin = newest_first ? std::min(begin, request.after->sequence)
                         : std::max(begin, request.after->sequence);
  }
  const auto& states = request.filter.states;
  if (states.size() == 1)
    if (auto gone = go_to_first(states.front(), request.order, *stretch); !gone)
      return std::unexpected(std::move(gone).error());
  const auto all = *stretch;
  if (!newest_first)
    stretch->last = std::min(stretch->last, stretch->first + kManyRows);
  else if (stretch->last > kManyRows)
    stretch->first = std::max(stretch->first, stretch->last - kManyRows);
  const auto whole = std::exchange(range_, *stretch);
  auto found = find(request, Path::table, most);
  range_ = whole;
  if (!found) return std::unexpected(std::move(found).error());
  const bool complete = stretch->first == all.first && stretch->last == all.last;
  if (found->size() < most && !complete) return std::nullopt;
  return *std::move(found);
}

/// The matches of a page, and how many there are in all. Where an index answers, counting comes
/// first. Few matches are then taken from the index and sorted; many are looked for along the
/// table, where they stand in order. Conditions on the row itself are asked in one pass that does
/// both: as many matches are collected as are counted.
base::Result<std::vector<Searcher::Found>> Searcher::find_page(const search::Request& request,
                                                               search::Page& page) {
  const auto most = std::uint64_t{request.limit} + 1;
  if (!search::translate(request, range_, Path::index).indexed) {
    auto path = way_to_rows(request);
    if (!path) return std::unexpected(std::move(path).error());
    if (request.after) {
      if (auto counted = count_matches(request, *path, page); !counted)
        return std::unexpected(std::move(counted).error());
      return find(request, *path, most);
    }
    auto found = find(request, *path, search::kMaxTotal + 1);
    if (!found) return found;
    page.total = std::min<std::uint64_t>(found->size(), search::kMaxTotal);
    page.total_is_at_least = found->size() > search::kMaxTotal;
    return found;
  }
  if (auto counted = count_matches(request, Path::index, page); !counted)
    return std::unexpected(std::move(counted).error());
  if (page.total_is_at_least && request.sort == Sort::created_at &&
      !search::comes_in_order(request.filter)) {
    auto close = find_close(request, most);
    if (!close) return std::unexpected(std::move(close).error());
    if (*close) return **std::move(close);
  }
  return find(request, Path::index, most);
}

base::Result<search::Page> Searcher::page(const search::Request& request) {
  search::Page page;
  auto found = find_page(request, page);
  if (!found) return std::unexpected(std::move(found).error());
  bool more = found->size() > request.limit;
  if (more) found->resize(request.limit);
  auto jobs = read(*found);
  if (!jobs) return std::unexpected(std::move(jobs).error());
  page.jobs = *std::move(jobs);
  more = more || page.jobs.size() < found->size();
  if (more) {
    const Found& last = (*found)[page.jobs.size() - 1];
    page.next = search::Place{.key = last.key, .sequence = last.sequence};
  }
  return page;
}

/// The first of them, as many as fit a page.
base::Result<std::vector<model::JobRecord>> Searcher::read(const std::vector<Found>& found) {
  std::vector<model::JobRecord> jobs;
  jobs.reserve(found.size());
  std::size_t bytes = 0;
  for (const Found& each : found) {
    if (bytes > kShownBytes) break;
    const ResetOnExit guard(job_);
    job_.bind(1, each.sequence);
    if (job_.step() != Step::row) return std::unexpected(connection_.error());
    auto row = read_job(job_);
    if (!row) return std::unexpected(std::move(row).error());
    if (auto errors = read_errors(errors_, connection_, row->errors_kept, row->job); !errors)
      return std::unexpected(std::move(errors).error());
    bytes += shown_bytes(row->job);
    if (!asked_.budget->spend(shown_bytes(row->job))) return std::unexpected(connection_.error());
    jobs.push_back(std::move(row->job));
  }
  return jobs;
}

base::Result<search::Page> Searcher::search(const search::Request& request,
                                            const SearchBounds& bounds) {
  return answer<search::Page>(bounds, [&]() -> base::Result<search::Page> {
    if (auto ready = prepare_for(request.filter); !ready)
      return std::unexpected(std::move(ready).error());
    return page(request);
  });
}

base::Result<std::vector<base::JobId>> Searcher::slice(const search::Filter& filter,
                                                       std::uint64_t after, std::uint64_t upto,
                                                       std::size_t limit,
                                                       const SearchBounds& bounds) {
  using Jobs = std::vector<base::JobId>;
  return answer<Jobs>(bounds, [&]() -> base::Result<Jobs> {
    if (auto ready = prepare_for(filter); !ready) return std::unexpected(std::move(ready).error());
    range_.first = std::max(range_.first, after + 1);
    range_.last = std::min(range_.last, upto);
    return take_slice(filter, limit);
  });
}

base::Result<std::vector<base::JobId>> Searcher::take_slice(const search::Filter& filter,
                                                            std::size_t limit) {
  auto select = prepare({.filter = filter}, Path::table, "j.seq, j.id_random, j.created_at",
                        " ORDER BY j.seq LIMIT " + std::to_string(limit));
  if (!select) return std::unexpected(std::move(select).error());
  std::vector<base::JobId> jobs;
  for (;;) {
    const Step step = select->step();
    if (step == Step::failed) return std::unexpected(connection_.error());
    if (step == Step::done) return jobs;
    jobs.push_back(job_id_of(select->number(0), select->number(1), select->instant(2)));
  }
}

base::Result<Store::Count> Searcher::count(const search::Filter& filter,
                                           const SearchBounds& bounds) {
  return answer<Store::Count>(bounds, [&]() -> base::Result<Store::Count> {
    if (auto ready = prepare_for(filter); !ready) return std::unexpected(std::move(ready).error());
    return count_all(filter);
  });
}

base::Result<Store::Count> Searcher::count_all(const search::Filter& filter) {
  auto select = prepare({.filter = filter}, Path::index,
                        "count(*), (SELECT ifnull(max(seq), 0) FROM job_rows)", "");
  if (!select) return std::unexpected(std::move(select).error());
  if (select->step() != Step::row) return std::unexpected(connection_.error());
  return Store::Count{.matches = select->number(0), .last = select->number(1)};
}

base::Result<std::vector<model::BatchRecord>> Searcher::batches(std::optional<bool> finished,
                                                                std::uint64_t before,
                                                                std::size_t limit,
                                                                const SearchBounds& bounds) {
  return answer<std::vector<model::BatchRecord>>(
      bounds, [&] { return list_batches(finished, before, limit); });
}

base::Result<std::vector<model::BatchRecord>> Searcher::list_batches(std::optional<bool> finished,
                                                                     std::uint64_t before,
                                                                     std::size_t limit) {
  std::string sql = "SELECT " + std::string(kBatchColumns) +
                    " FROM batch_rows WHERE seq < ?1 AND (finished_at IS NULL OR finished_at >= "
                    "(SELECT now FROM meta_row) - ?2)";
  if (finished) sql += *finished ? " AND finished_at IS NOT NULL" : " AND finished_at IS NULL";
  auto select = connection_.prepare(sql + " ORDER BY seq DESC LIMIT ?3");
  if (!select) return std::unexpected(std::move(select).error());
  select->bind(1, before);
  select->bind(2, kBatchesKept.ms);
  select->bind(3, static_cast<std::int64_t>(limit));
  std::vector<model::BatchRecord> batches;
  for (;;) {
    const Step step = select->step();
    if (step == Step::failed) return std::unexpected(connection_.error());
    if (step == Step::done) return batches;
    auto batch = read_batch(*select);
    if (!batch) return std::unexpected(std::move(batch).error());
    batches.push_back(*std::move(batch));
  }
}

void SearcherPool::begin(std::string path, std::size_t searchers, std::size_t cache_bytes) {
  path_ = std::move(path);
  unopened_ = searchers;
  cache_bytes_ = cache_bytes;
}

base::Result<std::unique_ptr<Searcher>> SearcherPool::take() {
  {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return !free_.empty() || unopened_ > 0; });
    if (!free_.empty()) {
      auto searcher = std::move(free_.back());
      free_.pop_back();
      return searcher;
    }
    --unopened_;
  }
  auto searcher = Searcher::open(path_, cache_bytes_);
  if (searcher) return searcher;
  {
    const std::scoped_lock lock(mutex_);
    ++unopened_;
  }
  returned_.notify_one();
  return searcher;
}

void SearcherPool::give_back(std::unique_ptr<Searcher> searcher) {
  {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(searcher));
  }
  returned_.notify_one();
}

void SearcherPool::close() {
  const std::scoped_lock lock(mutex_);
  free_.clear();
}

}  // namespace jobbie::store
