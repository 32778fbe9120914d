// Whom a command means: mostly somebody that fits, sometimes somebody that does not, or nobody.
#include <algorithm>
#include <array>

#include "tests/sim/workload.hpp"

namespace jobbie::sim {
namespace {

std::vector<Blob> blobs(std::initializer_list<std::string_view> texts) {
  std::vector<Blob> result;
  for (const std::string_view text : texts) result.emplace_back(text);
  return result;
}

}  // namespace

namespace pool {
const std::vector<Blob> queues = blobs({"mail", "mail.bulk", "img/resize", "a:b_c-d", "Z"});
const std::vector<Blob> groups = blobs({"g1", "g2", "group three"});
const std::vector<Blob> workers = blobs({"w1", "w2", "w3"});
const std::vector<Blob> roles = blobs({"gpu", "signer"});
const std::vector<Blob> marks = blobs({"eu", "big"});
const std::vector<Blob> keys = blobs({"k1", "k2", "k3"});
const std::vector<Blob> tags =
    blobs({R"({"tenant":"a"})", R"({"tenant":"b","x":1})", R"({"x":1.0})", R"({"x":1})",
           R"({"tenant":null})", R"({ "tenant" : "\u0061", "x":{"deep":[1,2.0]} })",
           R"({"tenant":"a","tenant":"b"})", "{}"});
const std::vector<Blob> pers = blobs({"tags.tenant", "group", "tags.x"});
const std::vector<Blob> crons =
    blobs({"* * * * *", "*/10 * * * * *", "*/5 * * * *", "0 * * * *", "30 2 * * *", "@daily",
           "30 1,2,3 * * *", "0 12 29 2 *", "15 0 0 1 1 *"});
const std::vector<Blob> schedule_names = blobs({"s1", "s2", "s3", "s4", "s5"});
const std::vector<Blob> idempotency_keys = blobs({"i1", "i2", "i3", "i4", "i5", "i6"});
}  // namespace pool

/// A uniformly drawn job that fits; nil if there is none.
JobId Workload::random_job(const std::function<bool(const JobRecord&)>& fits, bool ended) {
  JobId chosen;
  std::uint64_t seen = 0;
  for (const auto& [seq, job] : ended ? model_.ended() : model_.live()) {
    if (fits(job) && rng_.below(++seen) == 0) chosen = job.id;
  }
  return chosen;
}

JobId Workload::some_job() {
  const bool ended = rng_.percent(25);
  return random_job([](const JobRecord&) { return true; }, ended);
}

/// One that is gone, one that never was, or one whose id is a little wrong.
JobId Workload::stray_job() {
  JobId id = past_jobs_.empty() ? some_job() : rng_.pick(past_jobs_);
  switch (rng_.below(6)) {
    case 0:
      return {base::Ulid::make(model_.now(), model_.next_sequence(), 7)};
    case 1:
      return {base::Ulid::make(model_.now(), rng_.next() & base::kMaxSequence, 1)};
    case 2:
      id.ulid.low ^= 1;
      return id;
    case 3:
      id.ulid.high += 0x10000;
      return id;
    default:
      return id;
  }
}

/// A job in a state that the action is made for, most of the time.
JobId Workload::job_for(std::size_t verb) {
  if (rng_.percent(personality_.astray)) return rng_.coin() ? stray_job() : some_job();
  JobId id;
  const auto idle = [](const JobRecord& job) {
    return job.state == State::pending || job.state == State::scheduled;
  };
  const auto dead = [](const JobRecord& job) { return job.state == State::dead; };
  const auto any = [](const JobRecord&) { return true; };
  switch (verb) {
    case verb_index<command::Retry>():
      id = random_job(any, true);
      break;
    case verb_index<command::Requeue>():
      id = random_job(dead, true);
      break;
    case verb_index<command::Move>():
      id = rng_.percent(70) ? random_job(idle, false) : random_job(any, true);
      break;
    case verb_index<command::SetPriority>():
      id = random_job(idle, false);
      break;
    case verb_index<command::Delete>():
      id = random_job(any, rng_.percent(25));
      break;
    default:
      id = random_job(any, false);
      break;
  }
  return id.is_nil() ? stray_job() : id;
}

command::LeaseRef Workload::lease_ref() {
  if (!past_leases_.empty() && rng_.percent(personality_.astray / 2)) {
    const Held& held = rng_.pick(past_leases_);
    return {held.job, held.lease, rng_.coin() ? held.worker : Blob{}};
  }
  const auto active = [](const JobRecord& job) { return job.state == State::active; };
  JobId id = random_job(active, false);
  if (id.is_nil() || rng_.permille(personality_.astray * 3))
    id = rng_.coin() ? some_job() : stray_job();
  if (id.is_nil()) id = stray_job();
  command::LeaseRef ref{.job = id};
  const JobRecord* job = model_.find(id);
  if (job == nullptr) {
    ref.lease = rng_.below(3);
    return ref;
  }
  ref.lease = rng_.percent(75) ? job->lease : 0;
  if (rng_.percent(40)) ref.worker = job->worker;
  if (rng_.percent(personality_.astray / 2)) {
    const std::array<std::uint64_t, 5> wrong = {job->lease - 1, job->lease + 1, model_.next_lease(),
                                                ~std::uint64_t{0}, 1};
    ref.lease = rng_.pick(wrong);
  }
  if (rng_.percent(personality_.astray / 2)) ref.worker = some_worker();
  return ref;
}

Blob Workload::some_queue() {
  if (rng_.permille(8)) return Blob("nowhere");
  return pool::queues[static_cast<std::size_t>(rng_.below(personality_.queues))];
}

Blob Workload::some_group() { return rng_.pick(pool::groups); }

Blob Workload::some_worker() { return rng_.pick(pool::workers); }

std::vector<Blob> Workload::some_patterns() {
  static const std::vector<Blob> globs = {Blob("*"),     Blob("mail*"), Blob("*.*"),
                                          Blob("?mg/*"), Blob("x*"),    Blob("?")};
  std::vector<Blob> patterns;
  do {
    patterns.push_back(rng_.percent(45) ? rng_.pick(globs) : some_queue());
  } while (rng_.percent(35) && patterns.size() < 4);
  return patterns;
}

}  // namespace jobbie::sim
