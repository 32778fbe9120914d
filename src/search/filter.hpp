// What a search asks for, as values: the filter, the order, the place in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "model/job.hpp"
#include "search/jq.hpp"

namespace jobbie::search {

inline constexpr std::size_t kMaxIds = 1000;
inline constexpr std::size_t kMaxText = 1024;  ///< bytes of a text to look for
inline constexpr std::size_t kMaxTags = 32;
inline constexpr std::uint32_t kMaxLimit = 1000;
inline constexpr std::uint32_t kDefaultLimit = 50;
/// Up to here matches are counted.
inline constexpr std::uint64_t kMaxTotal = 10'000;

/// The ids that begin with some text, as the range of all bits that may follow.
struct IdRange {
  base::Ulid first;
  base::Ulid last;
  bool operator==(const IdRange&) const = default;
};

/// Between two moments, neither of them included. Zero and kNever: open.
struct Period {
  base::Instant after;
  base::Instant before = base::kNever;
  bool operator==(const Period&) const = default;
  [[nodiscard]] bool given() const { return after.ms != 0 || before != base::kNever; }
};

/// All that is given must hold.
struct Filter {
  std::string queue;                 ///< a name, or a glob
  std::vector<model::State> states;  ///< any of these; empty: all
  std::optional<std::int32_t> priority;
  std::vector<Jq> tags;  ///< one equality for each tag
  std::string payload_contains;
  std::optional<Jq> payload_jq;
  Period created;
  Period scheduled;
  Period started;
  Period completed;
  Period failed;
  Period expires;
  std::string worker;
  std::optional<bool> has_errors;
  std::string error_contains;
  std::optional<std::uint64_t> error_group;  ///< a fingerprint
  std::optional<base::BatchId> batch;
  std::optional<base::ScheduleId> schedule;
  std::string group;
  std::string unique_key;
  std::optional<std::uint32_t> attempt_min;
  std::optional<std::uint32_t> attempt_max;
  std::optional<IdRange> id_range;  ///< job_id_prefix
  bool nothing = false;             ///< no job can match (an id prefix that no id has)
  std::optional<std::vector<base::JobId>> ids;
};

enum class Sort : std::uint8_t {
  created_at = 0,
  scheduled_at,
  started_at,
  completed_at,
  failed_at,
  ended_at,
  expire_at,
  priority,
  attempt,
};
inline constexpr std::string_view kSortNames[] = {"created_at",   "scheduled_at", "started_at",
                                                  "completed_at", "failed_at",    "ended_at",
                                                  "expire_at",    "priority",     "attempt"};
enum class Order : std::uint8_t { asc = 0, desc = 1 };
inline constexpr std::string_view kOrderNames[] = {"asc", "desc"};

/// The last job of a page: the next page begins behind it, whatever came or went meanwhile.
struct Place {
  std::int64_t key = 0;  ///< of the sort
  std::uint64_t sequence = 0;
  bool operator==(const Place&) const = default;
};

struct Request {
  Filter filter;
  Sort sort = Sort::created_at;
  Order order = Order::desc;
  std::optional<Place> after;
  std::uint32_t limit = kDefaultLimit;
  std::uint64_t filter_hash = 0;  ///< of the filter as it was written, in whatever order
};

/// What a search found.
struct Page {
  std::vector<model::JobRecord> jobs;
  std::uint64_t total = 0;  ///< of the whole search, at most kMaxTotal
  bool total_is_at_least = false;
  std::optional<Place> next;  ///< there is more
};

/// Opaque to callers. A cursor belongs to its filter, sort and order.
[[nodiscard]] std::string write_cursor(const Request& request, const Place& place);
[[nodiscard]] std::optional<Place> read_cursor(std::string_view text, const Request& request);

/// The ids that begin with `prefix`; nothing where none can.
[[nodiscard]] std::optional<IdRange> ids_beginning_with(std::string_view prefix);

// ---- reading what callers send (read.cpp)

/// Why it could not be read. The codes are those of docs/errors.md.
struct Fault {
  std::string code;
  std::string field = {};  ///< within the filter
  std::string message = {};
  std::optional<std::size_t> position = {};  ///< of the text that was read
};
template <typename T>
using Read = std::expected<T, Fault>;

/// A JSON object with the filter's fields; unknown ones are a fault.
[[nodiscard]] Read<Filter> read_filter(std::string_view json);
/// The same, and `sort`, `order`, `cursor` and `limit`.
[[nodiscard]] Read<Request> read_request(std::string_view json);
/// From the parameters of a query string. `state` may name several, parted by commas.
using Parameters = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Read<Request> read_parameters(const Parameters& parameters);

/// All names that read_request() knows.
[[nodiscard]] std::vector<std::string_view> field_names();

}  // namespace jobbie::search
