// Replies and events as lines.
#include <fmt/format.h>

#include "script/print.hpp"

namespace jobbie::script {
namespace {

std::string claimed_line(const command::ClaimedJob& job, const Names& names) {
  std::string out = fmt::format("{} attempt={} lease={} until={}", names.of(job.job), job.attempt,
                                job.lease, names.show(job.lease_expires_at));
  if (job.checkpoint) out += fmt::format(" checkpoint={}", job.checkpoint.view());
  return out + "\n";
}

std::string enqueued_line(const command::Enqueued& job, const Names& names) {
  return fmt::format("{} {}{}\n", names.of(job.job), model::to_string(job.state),
                     job.existing ? " existing" : "");
}

/// The job that an ack or fail was about.
base::JobId settled_job(const command::Command& command) {
  if (const auto* ack = std::get_if<command::Ack>(&command)) return ack->ref.job;
  if (const auto* fail = std::get_if<command::Fail>(&command)) return fail->ref.job;
  return {};
}

class ReplyPrinter {
 public:
  ReplyPrinter(const command::Command& command, const Names& names)
      : command_(command), names_(names) {}

  std::string operator()(const command::Refusal& r) const {
    return fmt::format("refused {}{}{}\n", command::to_string(r.code), r.field.empty() ? "" : " ",
                       r.field);
  }
  std::string operator()(const command::Enqueued& r) const { return enqueued_line(r, names_); }
  std::string operator()(const command::EnqueuedMany& r) const {
    std::string out;
    if (!r.batch.is_nil()) out += fmt::format("batch {}\n", names_.of(r.batch));
    for (const auto& job : r.jobs) out += enqueued_line(job, names_);
    return out;
  }
  std::string operator()(const command::Claimed& r) const {
    std::string out;
    for (const auto& job : r.jobs) out += claimed_line(job, names_);
    return out.empty() ? "nothing\n" : out;
  }
  std::string operator()(const command::Settled& r) const {
    std::string out =
        fmt::format("{} {}", names_.of(settled_job(command_)), model::to_string(r.state));
    if (r.next_attempt_at != base::Instant{})
      out += fmt::format(" at={}", names_.show(r.next_attempt_at));
    if (r.attempts_remaining != 0) out += fmt::format(" left={}", r.attempts_remaining);
    return out + (r.repeated ? " repeated\n" : "\n");
  }
  std::string operator()(const command::Beaten& r) const {
    const auto& beats = std::get<command::Heartbeat>(command_).beats;
    std::string out;
    for (std::size_t i = 0; i < r.jobs.size(); ++i)
      out += fmt::format("{} {}\n", names_.of(beats.at(i).ref.job), to_string(r.jobs[i]));
    return out.empty() ? "beaten\n" : out;
  }
  std::string operator()(const command::JobChanged& r) const {
    return fmt::format("{} {}\n", names_.of(r.job), model::to_string(r.state));
  }
  std::string operator()(const command::BulkReply& r) const {
    return fmt::format("bulk #{} bound={} cursor={}\n", r.bulk.id.sequence(), r.bulk.bound,
                       r.bulk.cursor);
  }
  std::string operator()(const command::BulkStepped& r) const {
    std::string out =
        fmt::format("affected={} skipped={} failed={}\n", r.affected, r.skipped, r.failed);
    for (const auto& error : r.errors)
      out += fmt::format("{} {}\n", names_.of(error.job), error.code.view());
    return out;
  }
  std::string operator()(const command::Done& r) const {
    return r.affected == 0 ? "done\n" : fmt::format("done affected={}\n", r.affected);
  }
  std::string operator()(const command::ScheduleReply& r) const {
    std::string out = print(r.schedule, names_);
    out.pop_back();
    if (!r.job.is_nil()) out += fmt::format(" job={}", names_.of(r.job));
    for (std::size_t i = 0; i < r.next_runs.size(); ++i)
      out += (i == 0 ? " then " : ", ") + names_.show(r.next_runs[i]);
    return out + "\n";
  }
  /// Of commands that scripts do not have.
  template <typename Other>
  std::string operator()(const Other&) const {
    return "done\n";
  }

 private:
  const command::Command& command_;
  const Names& names_;
};

}  // namespace

std::string print(const command::Reply& reply, const command::Command& command,
                  const Names& names) {
  return std::visit(ReplyPrinter(command, names), reply);
}

std::string print(const command::Event& event, const Names& names) {
  std::string out = fmt::format("  {}", command::to_string(event.type));
  if (!event.job.is_nil()) out += " " + names.of(event.job);
  if (event.queue && (event.job.is_nil() || event.queue.view() != kQueue))
    out += fmt::format(" {}", event.queue.view());
  if (event.attempt != 0) out += fmt::format(" attempt={}", event.attempt);
  if (event.detail) out += fmt::format(" ({})", names.in_text(std::string(event.detail.view())));
  return out + "\n";
}

}  // namespace jobbie::script
