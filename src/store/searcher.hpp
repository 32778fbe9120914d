// Searches in the file, on read-only connections of their own.
//
// A search sees one state of the file: what is committed when it begins. What has been handed over
// and is not committed is the caller's business: it waits for that first. Every search has a time
// after which it gives up, since a condition on the payload may have to read every row, and may be
// cancelled. Both are looked at every few hundred steps of SQLite's machine, and within the
// functions that it calls by the work that those count.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "model/records.hpp"
#include "search/sql.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"

struct sqlite3_context;
struct sqlite3_value;

namespace jobbie::store {

/// The code of a search that took longer than it may.
inline constexpr std::string_view kSearchTooSlow = "search_too_slow";

/// When a search ends that has not come to its end.
struct SearchBounds {
  std::chrono::milliseconds at_most{};
  const IsCancelled& is_cancelled;
};

/// Used by one thread at a time.
class Searcher {
 public:
  static base::Result<std::unique_ptr<Searcher>> open(const std::string& path,
                                                      std::size_t cache_bytes);

  base::Result<search::Page> search(const search::Request& request, const SearchBounds& bounds);
  /// Up to `limit` jobs that match, after < sequence ≤ upto, in the order of their sequences.
  base::Result<std::vector<base::JobId>> slice(const search::Filter& filter, std::uint64_t after,
                                               std::uint64_t upto, std::size_t limit,
                                               const SearchBounds& bounds);
  base::Result<Store::Count> count(const search::Filter& filter, const SearchBounds& bounds);
  /// Up to `limit` batches with sequences below `before`, the latest first.
  base::Result<std::vector<model::BatchRecord>> batches(std::optional<bool> finished,
                                                        std::uint64_t before, std::size_t limit,
                                                        const SearchBounds& bounds);
  /// Reads one state of the file within the bounds, by statements of the caller's own.
  base::Result<void> within(const SearchBounds& bounds,
                            const std::function<base::Result<void>(Connection&)>& read);

 private:
  class Transaction;
  /// What `holds` is called with.
  struct Asked {
    std::vector<search::Predicate> predicates;
    search::Budget* budget = nullptr;  ///< within a transaction
  };
  static void holds(sqlite3_context* context, int count, sqlite3_value** values);
  struct Found {
    std::int64_t key = 0;
    std::uint64_t sequence = 0;
  };

  template <typename T, typename Ask>
  base::Result<T> answer(const SearchBounds& bounds, Ask&& ask);
  base::Result<void> prepare_for(const search::Filter& filter);
  base::Result<search::SequenceRange> range_of(const search::Filter& filter);
  base::Result<std::uint64_t> first_created_at_or_after(std::int64_t ms);
  base::Result<bool> any_sweeps();
  /// The condition, with its values bound and its predicates in reach.
  base::Result<Statement> prepare(const search::Request& request, search::Path path,
                                  const std::string& select, const std::string& rest);
  base::Result<std::uint64_t> count_up_to(const search::Request& request, search::Path path,
                                          std::uint64_t most);
  base::Result<std::vector<Found>> find(const search::Request& request, search::Path path,
                                        std::uint64_t most);
  base::Result<search::Page> page(const search::Request& request);
  base::Result<void> count_matches(const search::Request& request, search::Path path,
                                   search::Page& page);
  base::Result<search::SequenceRange> inhabited();
  base::Result<search::Path> way_to_rows(const search::Request& request);
  base::Result<void> go_to_first(model::State state, search::Order order,
                                 search::SequenceRange& range);
  base::Result<std::optional<std::vector<Found>>> find_close(const search::Request& request,
                                                             std::uint64_t most);
  base::Result<std::vector<Found>> find_page(const search::Request& request, search::Page& page);
  base::Result<std::vector<base::JobId>> take_slice(const search::Filter& filter,
                                                    std::size_t limit);
  base::Result<Store::Count> count_all(const search::Filter& filter);
  base::Result<std::vector<model::BatchRecord>> list_batches(std::optional<bool> finished,
                                                             std::uint64_t before,
                                                             std::size_t limit);
  base::Result<std::vector<model::JobRecord>> read(const std::vector<Found>& found);

  Connection connection_;
  Statement job_;
  Statement errors_;
  Statement created_;
  Asked asked_;
  search::Where where_;
  search::SequenceRange range_;
  bool sweeps_ = false;
};

/// From any thread; who finds all searchers lent out waits for one. They are opened when needed.
class SearcherPool {
 public:
  void begin(std::string path, std::size_t searchers, std::size_t cache_bytes);
  /// Runs `use` with a searcher.
  template <typename T, typename Use>
  base::Result<T> with(Use&& use) {
    auto searcher = take();
    if (!searcher) return std::unexpected(std::move(searcher).error());
    base::Result<T> result = use(**searcher);
    give_back(*std::move(searcher));
    return result;
  }
  void close();

 private:
  base::Result<std::unique_ptr<Searcher>> take();
  void give_back(std::unique_ptr<Searcher> searcher);

  std::string path_;
  std::size_t cache_bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::size_t unopened_ = 0;
  std::vector<std::unique_ptr<Searcher>> free_;
};

}  // namespace jobbie::store
