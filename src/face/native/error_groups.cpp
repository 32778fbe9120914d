// GET /api/v1/errors and /api/v1/errors/{fingerprint}.
#include <fmt/format.h>

#include "base/json_writer.hpp"
#include "face/native/endpoints.hpp"
#include "face/parameters.hpp"
#include "model/error_pattern.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;
using jobbie::stats::ErrorGroup;

void write_group(Writer& json, const ErrorGroup& group) {
  json.begin_object();
  json.member("fingerprint").plain(fmt::format("{:016x}", group.fingerprint));
  json.member("queue").string(group.queue.view());
  json.member("pattern").string(group.pattern);
  json.member("error").string(group.error.view());
  json.member("count").number(group.dead + group.retrying);
  json.member("dead").number(group.dead);
  json.member("retrying").number(group.retrying);
  json.member("first_seen").instant(group.first_seen);
  json.member("last_seen").instant(group.last_seen);
  json.member("job_ids").begin_array();
  for (const auto& job : group.jobs) json.id(job);
  json.end_array();
  json.end_object();
}

class ErrorList final : public Exchange {
 public:
  ErrorList(call::Inbox& inbox, const call::ErrorsQuery& asked, std::uint64_t limit)
      : Exchange(inbox), limit_(limit) {
    query = asked;
  }

 private:
  void render(Answer& out) const override {
    const auto* found = std::get_if<jobbie::stats::ErrorGroups>(&answer);
    if (found == nullptr) return write(Problem{}, out);
    Writer json(out.body);
    json.begin_object();
    json.member("groups").begin_array();
    for (std::size_t i = 0; i < found->groups.size() && i < limit_; ++i)
      write_group(json, found->groups[i]);
    json.end_array();
    json.member("total").number(std::uint64_t{found->groups.size()});
    json.member("examined").number(found->examined);
    json.member("complete").boolean(found->complete);
    json.end_object();
  }

  std::uint64_t limit_;
};

class OneErrorGroup final : public Exchange {
 public:
  OneErrorGroup(call::Inbox& inbox, std::uint64_t fingerprint)
      : Exchange(inbox), fingerprint_(fingerprint) {
    query = call::ErrorsQuery{};
  }

 private:
  void render(Answer& out) const override {
    const auto* found = std::get_if<jobbie::stats::ErrorGroups>(&answer);
    if (found == nullptr) return write(Problem{}, out);
    for (const auto& group : found->groups) {
      if (group.fingerprint != fingerprint_) continue;
      Writer json(out.body);
      return write_group(json, group);
    }
    write(not_found("group of errors", fmt::format("{:016x}", fingerprint_)), out);
  }

  std::uint64_t fingerprint_;
};

}  // namespace

Outcome errors(const Input& input) {
  const auto parameters = Parameters::read(input.request.query, {"queue", "limit"});
  if (!parameters) return std::unexpected(parameters.error());
  const auto queue = parameters->text("queue");
  if (auto problem = check_queue(queue, false)) return std::unexpected(*std::move(problem));
  std::uint64_t limit = 100;
  if (auto problem = parameters->integer("limit", 1, jobbie::stats::kMaxErrorGroups, limit))
    return std::unexpected(*std::move(problem));
  return std::make_unique<ErrorList>(input.inbox, call::ErrorsQuery{.queue = base::Blob(queue)},
                                     limit);
}

Outcome error_group(const Input& input) {
  if (const auto parameters = Parameters::read(input.request.query, {}); !parameters)
    return std::unexpected(parameters.error());
  const auto fingerprint = model::parse_fingerprint(input.id);
  if (!fingerprint) return std::unexpected(not_found("group of errors", input.id));
  return std::make_unique<OneErrorGroup>(input.inbox, *fingerprint);
}

}  // namespace jobbie::face::native
