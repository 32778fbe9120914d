// Plain jobs into rows, many by one statement.
//
// The statement inserts what a virtual table holds, and that table is a list of jobs in memory. So
// SQLite opens its cursors once for all of them and mostly stands where the next row belongs, and
// it asks for those columns alone that plain jobs differ in. A new row costs about
// half of what it does with a statement of its own, one that is replaced three quarters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "model/job.hpp"
#include "store/sqlite.hpp"

namespace jobbie::store {

class JobFeed {
 public:
  JobFeed() = default;
  /// `connection` must outlive the feed, and has one at a time.
  static base::Result<JobFeed> make(Connection& connection);

  /// The job must stay until it is written or forgotten.
  void add(const model::PlainJob& job, std::uint64_t revision) {
    jobs_->push_back({&job, revision});
  }
  [[nodiscard]] std::size_t size() const { return jobs_->size(); }

  /// Inserts what was added, in place of the rows that these jobs have, and forgets it. False: the
  /// database refused.
  [[nodiscard]] bool write();
  void forget() { jobs_->clear(); }

  struct Fed {
    const model::PlainJob* job;
    std::uint64_t revision;
  };
  using Jobs = std::vector<Fed>;

 private:
  Jobs* jobs_ = nullptr;  ///< the connection's, with the virtual table
  Statement insert_;
};

}  // namespace jobbie::store
