// POST /api/v1/heartbeat: one request for all jobs of a worker.
#include <algorithm>
#include <array>
#include <utility>

#include "base/json_writer.hpp"
#include "command/validate.hpp"
#include "face/body.hpp"
#include "face/native/endpoints.hpp"
#include "face/native/settle.hpp"
#include "model/limits.hpp"

namespace jobbie::face::native {
namespace {

constexpr Fields kHeartbeatFields(std::to_array<std::string_view>({"jobs", "worker_id"}));
constexpr Fields kBeatFields(std::to_array<std::string_view>({"lease_id", "progress",
                                                              "checkpoint"}));

class HeartbeatExchange final : public Exchange {
 public:
  using Exchange::Exchange;
  std::vector<NamedJob> jobs;
  /// What was left out of a beat, by its place in `jobs`. There are few of them.
  std::vector<std::pair<std::size_t, Problem>> left_out;

 private:
  void render(Answer& out) const override {
    const auto* beaten = reply_as<command::Beaten>(replies[0], out);
    if (beaten == nullptr) return;
    base::json::Writer json(out.body);
    json.begin_object();
    json.member("jobs").begin_object();
    auto next = left_out.begin();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].id.is_nil())
        json.member_quoted(jobs[i].odd);
      else
        json.member(jobs[i].id.text());
      const auto status = i < beaten->jobs.size() ? beaten->jobs[i] : command::BeatStatus::unknown;
      json.begin_object().member("status").plain(command::to_string(status));
      if (next != left_out.end() && next->first == i) {
        json.member("code").plain(next->second.code);
        json.member("detail").string(next->second.detail);
        ++next;
      }
      json.end_object();
    }
    json.end_object();
    json.end_object();
  }
};

class HeartbeatReader {
 public:
  HeartbeatReader(const Input& input, Body& body, HeartbeatExchange& exchange,
                  command::Heartbeat& command)
      : input_(input), body_(body), exchange_(exchange), command_(command) {}

  bool read() {
    return body_.object(kHeartbeatFields, [this](std::size_t i) {
      return i == 0 ? read_jobs() : body_.text(command_.worker);
    }) && body_.finish();
  }

 private:
  bool read_jobs() {
    auto& reader = body_.reader();
    if (reader.peek() != base::json::Kind::object) return body_.refuse_kind("an object");
    if (!reader.begin_object()) return false;
    std::string_view name;
    while (reader.next_member(name)) {
      if (command_.beats.size() == model::limits::kBeatsPerRequest)
        return body_.refuse_value("names more than 10000 jobs");
      exchange_.jobs.push_back(NamedJob::from(name));
      if (!read_beat(name, command_.beats.emplace_back())) return false;
    }
    return !reader.failed() && check_twice();
  }

  bool read_beat(std::string_view name, command::Beat& beat) {
    beat.ref.job = exchange_.jobs.back().id;
    if (body_.reader().peek() == base::json::Kind::null) return body_.reader().null();
    // Its own copy: the reader's lasts only until the next name.
    const std::string key(shown(name));
    body_.at_key("jobs", key);
    body_.at_field({});
    // What is too long is left out, and told: the job's lease must not end for it, nor those of
    // the others.
    std::optional<Problem> too_long;
    const auto max_bytes = input_.options.max_payload_bytes;
    const bool read = body_.object(kBeatFields, [&](std::size_t i) {
      switch (i) {
        case 0:
          return read_lease(body_, beat.ref.lease);
        case 1:
          return body_.json(beat.progress, std::min(max_bytes, model::limits::kProgress), too_long);
        default:
          return body_.json(beat.checkpoint, max_bytes, too_long);
      }
    });
    if (too_long) exchange_.left_out.emplace_back(exchange_.jobs.size() - 1, *std::move(too_long));
    // A problem has its path by now, so the key may go.
    body_.at_top();
    return read;
  }

  bool check_twice() {
    std::vector<base::JobId> ids;
    ids.reserve(exchange_.jobs.size());
    for (const auto& job : exchange_.jobs) {
      if (!job.id.is_nil()) ids.push_back(job.id);
    }
    std::sort(ids.begin(), ids.end());
    const auto twice = std::adjacent_find(ids.begin(), ids.end());
    if (twice == ids.end()) return true;
    body_.at_field("jobs");
    return body_.refuse_value("names " + twice->text() + " twice");
  }

  const Input& input_;
  Body& body_;
  HeartbeatExchange& exchange_;
  command::Heartbeat& command_;
};

}  // namespace

Outcome heartbeat(const Input& input) {
  auto exchange = std::make_unique<HeartbeatExchange>(input.inbox);
  auto& command = exchange->commands.emplace_back(std::in_place_type<command::Heartbeat>);
  Body body(input.request.body);
  HeartbeatReader reader(input, body, *exchange, std::get<command::Heartbeat>(command));
  if (!reader.read()) return std::unexpected(body.problem());
  if (const auto refusal = command::validate(command)) return std::unexpected(problem_of(*refusal));
  return exchange;
}

}  // namespace jobbie::face::native
