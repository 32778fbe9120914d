// POST /api/v1/fetch: settle what is finished, then claim what comes next, in one call.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/duration.hpp"
#include "base/glob.hpp"
#include "base/json_writer.hpp"
#include "command/validate.hpp"
#include "face/body.hpp"
#include "face/native/endpoints.hpp"
#include "face/native/settle.hpp"
#include "face/native/words.hpp"
#include "model/limits.hpp"

namespace jobbie::face::native {
namespace {

namespace limits = model::limits;
using base::json::Writer;

constexpr Fields kFetchFields(std::to_array<std::string_view>({"queues", "worker_id", "hostname",
                                                               "timeout", "count", "lease_duration",
                                                               "roles", "tags", "ack", "fail"}));

/// Members of one claimed job, without braces.
void write_claimed(Writer& json, const command::ClaimedJob& job) {
  json.member("job_id").id(job.job);
  json.member("queue").plain(job.queue.view());
  json.member("payload").raw(job.payload.view());
  json.member("attempt").number(job.attempt);
  json.member("max_retries").number(job.max_retries);
  json.member("priority");
  write_priority(json, job.priority);
  json.member("lease_id").number_text(job.lease);
  json.member("lease_duration").seconds(job.lease_duration);
  json.member("lease_expires_at").instant(job.lease_expires_at);
  json.member("checkpoint").raw(job.checkpoint ? job.checkpoint.view() : "null");
  json.member("tags").raw(job.tags ? job.tags.view() : "{}");
  if (!job.batch.is_nil()) json.member("batch_id").id(job.batch);
  if (job.group) json.member("group").string(job.group.view());
  if (job.max_runtime.ms != 0) json.member("max_runtime").seconds(job.max_runtime);
  if (job.traceparent) json.member("traceparent").string(job.traceparent.view());
}

/// What the members of one job take beside its payload, checkpoint and tags.
constexpr std::size_t kClaimedBytes = 320;

class Fetch final : public Exchange {
 public:
  using Exchange::Exchange;

  bool many = false;     ///< `count` was given
  bool settles = false;  ///< `ack` or `fail` was given
  std::vector<SettleItem> acks;
  std::vector<SettleItem> fails;

 private:
  void render(Answer& out) const override {
    const auto* claimed = std::get_if<command::Claimed>(&replies.back());
    // A claim is checked before it is submitted, so a refusal of it is rare; what was settled
    // before it must be told all the same.
    if (claimed == nullptr && !settles) {
      reply_as<command::Claimed>(replies.back(), out);
      return;
    }
    static const command::Claimed kNothing;
    const auto& jobs = (claimed != nullptr ? *claimed : kNothing).jobs;
    if (jobs.empty() && !settles) {
      out.status = 204;
      return;
    }
    out.body.reserve(expected_bytes(jobs));
    Writer json(out.body);
    json.begin_object();
    if (settles) {
      json.member("acked");
      write_settles(json, Settle::ack, acks, replies);
      json.member("failed");
      write_settles(json, Settle::fail, fails, replies);
    }
    write_jobs(json, jobs);
    json.end_object();
  }

  void write_jobs(Writer& json, const std::vector<command::ClaimedJob>& jobs) const {
    if (many) {
      json.member("jobs").begin_array();
      for (const auto& job : jobs) {
        json.begin_object();
        write_claimed(json, job);
        json.end_object();
      }
      json.end_array();
    } else if (jobs.empty()) {
      json.member("job_id").null();
    } else {
      write_claimed(json, jobs.front());
    }
  }

  [[nodiscard]] std::size_t expected_bytes(const std::vector<command::ClaimedJob>& jobs) const {
    std::size_t bytes = 64 + (acks.size() + fails.size()) * 64;
    for (const auto& job : jobs)
      bytes += kClaimedBytes + job.queue.size() + job.payload.size() + job.tags.size() +
               job.checkpoint.size();
    return bytes;
  }
};

class FetchReader {
 public:
  FetchReader(const Input& input, Body& body, Fetch& fetch, command::Claim& claim)
      : input_(input), body_(body), fetch_(fetch), claim_(claim) {}

  bool read() {
    if (!body_.object(kFetchFields, [this](std::size_t i) { return read_field(i); }) ||
        !body_.finish())
      return false;
    if (!queues_given_) return body_.refuse_missing("queues");
    body_.at_field("queues");
    return !claim_.queues.empty() || body_.refuse_value("must not be empty");
  }

 private:
  bool read_field(std::size_t field) {
    switch (field) {
      case 0:
        queues_given_ = true;
        return body_.texts(claim_.queues, limits::kQueuesPerClaim) && check_globs();
      case 1:
        return body_.text(claim_.worker);
      case 2:
        return body_.text(claim_.hostname);
      case 3:
        return read_timeout();
      case 4:
        fetch_.many = true;
        return body_.integer(claim_.count);
      case 5:
        return body_.positive_duration(claim_.lease);
      case 6:
        return body_.texts(claim_.roles, limits::kCapabilities);
      case 7:
        return body_.texts(claim_.tags, limits::kCapabilities);
      case 8:
        return settle("ack", Settle::ack, fetch_.acks);
      default:
        return settle("fail", Settle::fail, fetch_.fails);
    }
  }

  /// Each glob has to be compared with the names of all queues.
  bool check_globs() {
    const auto globs =
        std::count_if(claim_.queues.begin(), claim_.queues.end(),
                      [](const base::Blob& queue) { return base::is_glob(queue.view()); });
    if (static_cast<std::size_t>(globs) <= limits::kGlobsPerFetch) return true;
    body_.at_field("queues");
    return body_.refuse_value(
        fmt::format("may have at most {} names with wildcards", limits::kGlobsPerFetch));
  }

  bool read_timeout() {
    if (!body_.duration(fetch_.wait)) return false;
    if (fetch_.wait <= input_.options.max_wait) return true;
    return body_.refuse_value(
        fmt::format("must be at most {}", base::format_duration(input_.options.max_wait)));
  }

  bool settle(std::string_view name, Settle kind, std::vector<SettleItem>& items) {
    fetch_.settles = true;
    return read_settles(body_, name, kind, input_.options.max_payload_bytes, fetch_.commands,
                        items);
  }

  const Input& input_;
  Body& body_;
  Fetch& fetch_;
  command::Claim& claim_;
  bool queues_given_ = false;
};

}  // namespace

Outcome fetch(const Input& input) {
  auto exchange = std::make_unique<Fetch>(input.inbox);
  command::Claim claim{.queues = {}, .max_bytes = limits::kAnswerBytes};
  Body body(input.request.body);
  FetchReader reader(input, body, *exchange, claim);
  if (!reader.read()) return std::unexpected(body.problem());
  // The claim comes last, whatever the order of the members: it may have to wait.
  const auto& command = exchange->commands.emplace_back(std::move(claim));
  if (const auto refusal = command::validate(command)) return std::unexpected(problem_of(*refusal));
  return exchange;
}

}  // namespace jobbie::face::native
