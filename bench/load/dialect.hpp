// How the generator talks to a server: requests as bytes, answers as outcomes.
//
// A dialect holds the bytes of its requests ready made and copies them, because the generator
// shares the machine with the server it measures. All dialects send the same jobs and do the same
// steps, so two systems that each have one are compared with the same client cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jobbie::bench::load {

constexpr std::size_t kPayloadBytes = 200;
constexpr std::string_view kQueue = "bench";

/// A job a worker holds. The strings keep their room from one use to the next.
struct Taken {
  std::string id;
  std::string lease;
  std::uint64_t stamp_ns = 0;  ///< when the producer sent it; 0 if it did not say
};

/// A list that is emptied without freeing what its items own.
class TakenList {
 public:
  Taken& add() {
    if (size_ == items_.size()) items_.emplace_back();
    return items_[size_++];
  }
  void clear() { size_ = 0; }
  [[nodiscard]] std::span<const Taken> all() const { return {items_.data(), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::vector<Taken> items_;
  std::size_t size_ = 0;
};

/// What a connection waits for.
enum class Step : std::uint8_t { hello, put, take, finish, finish_and_take };

struct Take {
  std::size_t count = 1;
  bool wait =
      true;  ///< wait some seconds for a job instead of answering at once that there is none
};

struct Answer {
  enum class Kind : std::uint8_t {
    incomplete,  ///< read more first
    fine,        ///< one of the awaited answers
    last,        ///< fine, and no other follows though more were awaited
    skip,        ///< nobody waits for it
    busy,        ///< refused for now: ask again
    broken,      ///< not what the protocol promises
  };
  Kind kind = Kind::incomplete;
  std::size_t bytes = 0;  ///< to remove from the input
};

/// One for each connection; not shared.
class Dialect {
 public:
  Dialect() = default;
  virtual ~Dialect() = default;
  Dialect(const Dialect&) = delete;
  Dialect& operator=(const Dialect&) = delete;

  // Each appends one request to `out` and says how many answers it brings.
  virtual std::size_t hello(std::string& out) = 0;
  /// Enqueues as many jobs as the dialect was made for. The stamp goes into the first job's
  /// payload.
  virtual std::size_t put(std::string& out, std::uint64_t stamp_ns) = 0;
  virtual std::size_t take(std::string& out, Take what) = 0;
  virtual std::size_t finish(std::string& out, std::span<const Taken> jobs) = 0;
  /// Both in one write and, where the protocol has it, in one request.
  virtual std::size_t finish_and_take(std::string& out, std::span<const Taken> jobs, Take what) {
    const auto finished = finish(out, jobs);
    return finished + take(out, what);
  }

  /// Reads the first answer in `in`; jobs in it are added to `jobs`.
  [[nodiscard]] virtual Answer read(std::string_view in, Step step, TakenList& jobs) = 0;
};

/// The payload of every job: JSON of kPayloadBytes with room for a stamp.
[[nodiscard]] std::string payload();
/// Writes the stamp into the first payload found in `bytes`, which must hold one.
void write_stamp(std::span<char> bytes, std::uint64_t stamp_ns);
/// The stamp of the first payload in `bytes`, 0 if there is none.
[[nodiscard]] std::uint64_t read_stamp(std::string_view bytes);

struct DialectOptions {
  std::size_t put_batch = 1;   ///< jobs in one put
  std::size_t connection = 0;  ///< its number, for names that must differ
};

/// The names `make_dialect` knows, for the usage text.
[[nodiscard]] std::string_view dialect_names();
/// Null if there is no dialect of that name.
[[nodiscard]] std::unique_ptr<Dialect> make_dialect(std::string_view name, DialectOptions options);

}  // namespace jobbie::bench::load
