// One line for each field.
#include "model/schedule_fields.hpp"

namespace jobbie::model {
namespace {

class Taking {
 public:
  explicit Taking(std::uint64_t fields) : fields_(fields) {}
  template <typename T>
  void operator()(ScheduleField field, T& to, const T& from) const {
    if ((fields_ & bit_of(field)) != 0) to = from;
  }

 private:
  std::uint64_t fields_;
};

void take_job_fields(JobSpec& job, const JobSpec& from, const Taking& take) {
  using enum ScheduleField;
  take(queue, job.queue, from.queue);
  take(payload, job.payload, from.payload);
  take(priority, job.priority, from.priority);
  take(max_retries, job.max_retries, from.max_retries);
  take(unique_key, job.unique.key, from.unique.key);
  take(unique_period, job.unique.period, from.unique.period);
  take(unique_until, job.unique.until, from.unique.until);
  take(tags, job.tags, from.tags);
  take(expire_after, job.expire_after, from.expire_after);
  take(retry_backoff, job.retry.backoff, from.retry.backoff);
  take(retry_base_delay, job.retry.base, from.retry.base);
  take(retry_max_delay, job.retry.max, from.retry.max);
  take(retry_jitter, job.retry.jitter, from.retry.jitter);
  take(lease, job.lease, from.lease);
  take(max_runtime, job.max_runtime, from.max_runtime);
  take(timeout, job.timeout, from.timeout);
  take(group, job.group, from.group);
  take(roles, job.requires_.roles, from.requires_.roles);
  take(required_tags, job.requires_.tags, from.requires_.tags);
  take(target_worker, job.requires_.target_worker, from.requires_.target_worker);
  take(on_failure, job.on_failure, from.on_failure);
  take(traceparent, job.traceparent, from.traceparent);
}

}  // namespace

void take_fields(ScheduleSpec& spec, const ScheduleSpec& from, std::uint64_t fields) {
  using enum ScheduleField;
  const Taking take(fields);
  take(name, spec.name, from.name);
  take(cron, spec.cron, from.cron);
  take(zone, spec.zone, from.zone);
  take(catch_up, spec.catch_up, from.catch_up);
  take(paused, spec.paused, from.paused);
  take_job_fields(spec.job, from.job, take);
}

}  // namespace jobbie::model
