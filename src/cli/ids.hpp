// Job ids on standard input, in whatever shape the program before the pipe gave them.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "client/error.hpp"

namespace jobbie::cli {

/// The most ids that are taken from one pipe.
inline constexpr std::size_t kMostIds = 20'000'000;

/// Cuts a stream of JSON into its objects: one after another, on lines or not, or as elements of
/// arrays, which may hold texts too. Takes pieces of any size.
class ObjectSplitter {
 public:
  /// Appends each object or text that is complete to `out`. False if what came can be no such
  /// stream.
  bool feed(std::string_view piece, std::vector<std::string>& out);
  /// Whether the stream may end here.
  bool complete() const { return depth_ == 0 && arrays_ == 0 && !in_string_; }

 private:
  std::string object_;
  int depth_ = 0;   ///< within an object
  int arrays_ = 0;  ///< around it
  bool in_string_ = false;
  bool escaped_ = false;
};

/// Reads job ids: JSON objects with `id` or `job_id` (`jobbie search --output json`, also after
/// jq), arrays of ids, the answer of a search, or a table or list whose first word on each line is
/// an id. A head line is passed over; anything else is an error that names the line.
client::Result<std::vector<std::string>> read_ids(std::istream& in);

bool looks_like_job_id(std::string_view word);

}  // namespace jobbie::cli
