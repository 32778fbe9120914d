// What has changed since the last drain, as far as no other part keeps it: removals in the order in
// which they happened, jobs that changed or ended, lines for logs and for the audit log.
//
// A changed job is listed once; its record is made when the changes are drained. A removal is
// remembered until then as well, because the port that finds ended jobs may still know the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "command/item.hpp"
#include "engine/job.hpp"
#include "model/records.hpp"

namespace jobbie::engine {

/// A job by slot and sequence: the slot may have been given to another job since.
struct JobRef {
  Slot slot = 0;
  std::uint64_t sequence = 0;
};

class ChangeLog {
 public:
  /// A record is gone, for good or until one of the same name comes.
  template <typename Removal>
  void removed(Removal removal) {
    removals_.emplace_back(std::move(removal));
  }
  /// A job is gone that the store may know.
  void removed_job(JobId id);
  /// Ended jobs of a queue are gone together.
  void swept(const command::SweptJobs& jobs);
  [[nodiscard]] bool is_removed(std::uint64_t sequence) const {
    return removed_jobs_.contains(sequence);
  }
  /// Whether a record that the port gave has been removed since the last drain.
  [[nodiscard]] bool is_gone(const model::JobRecord& record) const;
  [[nodiscard]] const std::vector<command::SweptJobs>& sweeps() const { return sweeps_; }

  /// Lists the job unless it is listed: `job.changed` says which.
  void job_changed(Slot slot, Job& job) {
    if (job.changed) return;
    job.changed = true;
    changed_jobs_.push_back({slot, job.sequence()});
  }
  /// The job has ended, or has been fetched back as ended, and is in memory until the drain.
  void job_ended(Slot slot, const Job& job) { ended_jobs_.push_back({slot, job.sequence()}); }
  [[nodiscard]] std::span<const JobRef> changed_jobs() const { return changed_jobs_; }
  [[nodiscard]] std::span<const JobRef> ended_jobs() const { return ended_jobs_; }

  void logged(command::LoggedLines lines) { logged_.push_back(std::move(lines)); }
  void audited(model::AuditRecord record) { audited_.push_back(std::move(record)); }

  /// About how many records of its own a drain would give.
  [[nodiscard]] std::size_t size() const {
    return changed_jobs_.size() + removals_.size() + logged_.size();
  }

  /// The parts of a drain. Each is empty afterwards.
  [[nodiscard]] command::Changes take_removals();
  [[nodiscard]] std::vector<command::LoggedLines> take_logged() {
    return std::exchange(logged_, {});
  }
  [[nodiscard]] std::vector<model::AuditRecord> take_audited() {
    return std::exchange(audited_, {});
  }
  void forget_changed_jobs();
  void forget_ended_jobs();

 private:
  command::Changes removals_;
  std::unordered_set<std::uint64_t> removed_jobs_;
  std::vector<command::SweptJobs> sweeps_;
  std::vector<JobRef> changed_jobs_;
  std::vector<JobRef> ended_jobs_;
  std::vector<command::LoggedLines> logged_;
  std::vector<model::AuditRecord> audited_;
};

}  // namespace jobbie::engine
