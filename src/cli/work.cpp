// `work`: run a command for each job.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <optional>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/duration.hpp"
#include "base/json_text.hpp"
#include "cli/commands.hpp"
#include "cli/print.hpp"
#include "cli/process.hpp"
#include "cli/times.hpp"
#include "client/worker.hpp"

namespace jobbie::cli {
namespace {

using client::Context;
using client::Outcome;
using client::Stop;
using std::chrono::milliseconds;

/// The input is wrong: trying again would not help (EX_DATAERR of sysexits.h).
constexpr int kNoRetryCode = 65;
/// A line without an end is passed on in parts.
constexpr std::size_t kLongestLine = std::size_t{64} << 10;
/// What a server takes unless its --max-payload-bytes says otherwise.
constexpr std::size_t kMostResult = std::size_t{1} << 20;
/// Line breaks at the end are not part of a result.
constexpr std::size_t kResultSlack = 4096;
constexpr std::size_t kKeptErrors = std::size_t{8} << 10;
/// Of one line in a job's log, as the server takes it.
constexpr std::size_t kLogLine = 8192;
/// What stands for a byte that is not UTF-8 takes three.
constexpr std::size_t kReplacement = 3;

struct WorkArguments {
  std::vector<std::string> queues, roles, tags, words;
  int concurrency = 1;
  int max_jobs = 0;
  std::size_t max_result = kMostResult;
  std::string lease, drain = "25s", kill_after = "5s", worker_id;
  bool once = false, result = false, logs = false, quiet = false;
};

/// How much of `text` one line of a log holds, in whole characters.
std::size_t log_piece(std::string_view text) {
  std::size_t taken = 0;
  for (std::size_t sent = 0; taken < text.size();) {
    const auto length =
        base::json::text::utf8_length(text.data() + taken, text.data() + text.size());
    sent += length == 0 ? kReplacement : length;
    if (sent > kLogLine) break;
    taken += std::max(length, std::size_t{1});
  }
  return taken;
}

/// How much of `text` there is without a character at its end of which a part is still to come.
std::size_t whole_characters(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto at = text.size() - back;
    if ((static_cast<unsigned char>(text[at]) & 0xC0U) != 0xC0U) continue;
    return base::json::text::utf8_length(text.data() + at, text.data() + text.size()) == 0
               ? at
               : text.size();
  }
  return text.size();
}

/// What one command wrote: passed on by whole lines; the result and the end of its errors are kept.
class Listener {
 public:
  Listener(const WorkArguments& arguments, Context& context) : a_(arguments), context_(context) {}

  void take(std::string_view bytes, bool error) {
    if (error) {
      errors_.append(bytes);
      if (errors_.size() > kKeptErrors) errors_.erase(0, errors_.size() - kKeptErrors);
    } else if (a_.result && !too_long_) {
      output_.append(bytes);
      too_long_ = output_.size() > a_.max_result + kResultSlack;
    }
    std::string& line = error ? error_line_ : output_line_;
    line.append(bytes);
    auto end = line.rfind('\n') + 1;
    if (end == 0 && line.size() > kLongestLine) end = whole_characters(line);
    if (end == 0) return;
    pass_on(line.substr(0, end), error);
    line.erase(0, end);
  }

  void finish() {
    if (!output_line_.empty()) pass_on(output_line_, false);
    if (!error_line_.empty()) pass_on(error_line_, true);
  }

  /// Nothing if it is larger than may be sent.
  std::optional<std::string> result() const {
    std::string text = output_;
    while (text.ends_with('\n')) text.pop_back();
    if (text.empty() && !too_long_) return "null";
    if (!too_long_ && !client::is_json(text)) text = client::quoted(text);
    if (too_long_ || text.size() > a_.max_result) return std::nullopt;
    return text;
  }
  std::string last_line() const {
    std::string_view text = errors_;
    while (text.ends_with('\n')) text.remove_suffix(1);
    const auto begin = text.rfind('\n');
    return std::string(begin == std::string_view::npos ? text : text.substr(begin + 1));
  }
  const std::string& errors() const { return errors_; }

 private:
  void pass_on(std::string_view lines, bool error) {
    if (!a_.quiet) {
      static std::mutex mutex;  // lines of several commands do not mix
      const std::lock_guard lock(mutex);
      for (std::string_view rest = lines; !rest.empty();) {
        const auto sent = write(error ? STDERR_FILENO : STDOUT_FILENO, rest.data(), rest.size());
        if (sent <= 0) break;
        rest.remove_prefix(static_cast<std::size_t>(sent));
      }
    }
    if (a_.logs) log(lines, error);
  }

  /// A line that is too long becomes several; one that came in parts is not ended by an empty one.
  void log(std::string_view lines, bool error) {
    bool& goes_on = error ? error_goes_on_ : output_goes_on_;
    while (!lines.empty()) {
      const auto end = std::min(lines.find('\n'), lines.size());
      auto line = lines.substr(0, end);
      while (!line.empty() || !goes_on) {
        const auto size = log_piece(line);
        // The job matters more than its log.
        [[maybe_unused]] const auto sent =
            context_.log(std::string(line.substr(0, size)), error ? "warning" : "info");
        line.remove_prefix(size);
        goes_on = true;
      }
      goes_on = end == lines.size();
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
  }

  const WorkArguments& a_;
  Context& context_;
  std::string output_, errors_, output_line_, error_line_;
  bool too_long_ = false, output_goes_on_ = false, error_goes_on_ = false;
};

/// `{}` in an argument stands for the payload.
std::vector<std::string> words_for(const std::vector<std::string>& words,
                                   const std::string& payload) {
  std::vector<std::string> out;
  for (const auto& word : words) {
    std::string filled;
    std::size_t begin = 0;
    for (auto at = word.find("{}"); at != std::string::npos; at = word.find("{}", begin)) {
      filled += word.substr(begin, at - begin) + payload;
      begin = at + 2;
    }
    out.push_back(filled + word.substr(begin));
  }
  return out;
}

/// SIGTERM to what should stop, SIGKILL to what should not exist any more or does not listen.
class Pusher {
 public:
  Pusher(const Context& context, milliseconds patience) : context_(context), patience_(patience) {}
  Push operator()() {
    const Stop stop = context_.stop();
    if (stop == Stop::none) return Push::none;
    if (stop == Stop::lost) return Push::kill;
    const auto now = std::chrono::steady_clock::now();
    if (!told_) told_ = now;
    return now - *told_ > patience_ ? Push::kill : Push::terminate;
  }

 private:
  const Context& context_;
  milliseconds patience_;
  std::optional<std::chrono::steady_clock::time_point> told_;
};

Outcome outcome_of(const Ending& ending, Stop stop, const Listener& listener,
                   const WorkArguments& a) {
  if (ending.code == 0) {
    const auto result = a.result ? listener.result() : "null";
    if (result) return Outcome::done(*result);
    // The command would do its work again for the same result.
    return Outcome::failed_for_good(fmt::format("the result has more than {} bytes", a.max_result));
  }
  if (stop == Stop::shutdown) return Outcome::shutdown();
  if (stop == Stop::cancelled) return Outcome::failed("cancelled");
  std::string error = ending.signal != 0 ? fmt::format("killed by signal {}", ending.signal)
                                         : fmt::format("exit code {}", ending.code);
  if (const auto line = listener.last_line(); !line.empty()) error += ": " + line;
  // One line is in the error already.
  const std::string& text = listener.errors();
  const bool long_text = text.find('\n') + 1 < text.size();
  Outcome outcome = Outcome::failed(std::move(error), long_text ? text : "");
  outcome.retry = ending.code != kNoRetryCode;
  return outcome;
}

/// The checkpoint of a job for its command, which may be larger than the environment takes.
class CheckpointFile {
 public:
  /// 0, or the error number; then there is no file.
  int write(std::string_view text) {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") +
            "/jobbie-checkpoint-XXXXXX";
    const int fd = mkostemp(path_.data(), O_CLOEXEC);
    int failed = fd < 0 ? errno : 0;
    while (!text.empty() && failed == 0) {
      const auto done = ::write(fd, text.data(), text.size());
      if (done < 0 && errno != EINTR) failed = errno;
      if (done > 0) text.remove_prefix(static_cast<std::size_t>(done));
    }
    if (fd >= 0) close(fd);
    if (fd >= 0 && failed != 0) unlink(path_.c_str());
    if (failed != 0) path_.clear();
    return failed;
  }
  CheckpointFile() = default;
  ~CheckpointFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Outcome run_command(Context& context, const WorkArguments& a, milliseconds kill_after) {
  const client::Job& job = context.job();
  Listener listener(a, context);
  Launch launch;
  launch.words = words_for(a.words, job.payload);
  for (const auto& word : launch.words)
    if (word.size() > kLongestText)
      return Outcome::failed("the payload is too long for an argument; it is on standard input");
  const bool fits = std::strlen("JOBBIE_CHECKPOINT=") + job.checkpoint.size() <= kLongestText;
  CheckpointFile checkpoint;
  const int failed = job.checkpoint == "null" ? 0 : checkpoint.write(job.checkpoint);
  if (failed != 0 && !fits)
    return Outcome::failed(
        fmt::format("cannot write the checkpoint to a file: {}", std::strerror(failed)));
  launch.environment = {{"JOBBIE_JOB_ID", job.id},
                        {"JOBBIE_QUEUE", job.queue},
                        {"JOBBIE_ATTEMPT", std::to_string(job.attempt)},
                        {"JOBBIE_MAX_RETRIES", std::to_string(job.max_retries)},
                        {"JOBBIE_CHECKPOINT", fits ? job.checkpoint : ""},
                        {"JOBBIE_CHECKPOINT_FILE", checkpoint.path()},
                        {"JOBBIE_TRACEPARENT", job.traceparent}};
  launch.input = job.payload;
  launch.on_output = [&](std::string_view bytes, bool error) { listener.take(bytes, error); };
  launch.on_tick = Pusher(context, kill_after);
  const auto ending = run_process(launch);
  if (!ending) return Outcome::failed(ending.error().message);
  listener.finish();
  return outcome_of(*ending, context.stop(), listener, a);
}

client::Result<milliseconds> duration_flag(const std::string& text, const char* flag) {
  const auto parsed = base::parse_duration(with_unit(text));
  if (parsed && parsed->ms <= 86'400'000) return milliseconds(parsed->ms);
  return std::unexpected(
      client::Error{.failure = client::Failure::settings,
                    .message = fmt::format("{} is a duration such as 30s", flag)});
}

int work(Session& session, const WorkArguments& a) {
  if (a.words.empty())
    return session.usage("what to run? jobbie work QUEUE... -- COMMAND [ARGUMENTS]");
  if (!can_run(a.words[0])) return session.usage("there is no program " + a.words[0]);
  const auto drain = duration_flag(a.drain, "--drain");
  const auto kill_after = duration_flag(a.kill_after, "--kill-after");
  if (!drain) return session.fail(drain.error());
  if (!kill_after) return session.fail(kill_after.error());
  client::WorkerOptions options{.id = a.worker_id,
                                .concurrency = a.concurrency,
                                .drain = *drain,
                                .grace = *kill_after + milliseconds(2000),
                                .roles = a.roles,
                                .tags = a.tags,
                                .max_jobs = a.max_jobs,
                                .stop_when_idle = a.once,
                                .on_note = [&](const std::string& text) { session.note(text); }};
  if (!a.lease.empty()) {
    const auto lease = duration_flag(a.lease, "--lease");
    if (!lease) return session.fail(lease.error());
    options.lease = *lease;
  }
  auto opened = session.patient_client();
  if (!opened) return session.fail(opened.error());
  signal(SIGPIPE, SIG_IGN);
  client::Worker worker(*opened, options);
  for (const auto& queue : a.queues)
    // By value: a handler may be left behind when this function has returned.
    worker.handle(
        queue, [a, wait = *kill_after](Context& context) { return run_command(context, a, wait); });
  if (session.note_is_terminal())
    session.note(fmt::format("{} waits for jobs of {}; Ctrl-C ends it", worker.id(),
                             fmt::join(a.queues, ", ")));
  const auto ended = client::run_until_signal(worker);
  return ended ? kDone : session.fail(ended.error());
}

}  // namespace

void add_work_commands(Commands& commands) {
  auto a = std::make_shared<WorkArguments>();
  CLI::App* c = commands.add(
      commands.app(), "work", "Run a command for each job",
      "  jobbie work emails.send -- ./send-mail\n"
      "  jobbie work 'images.*' --concurrency 4 -- convert-image {}\n"
      "  jobbie work reports --once --result -- python3 report.py\n\n"
      "The payload is on standard input, and stands for {} in arguments; the job is in "
      "JOBBIE_JOB_ID,\n"
      "JOBBIE_QUEUE, JOBBIE_ATTEMPT, JOBBIE_CHECKPOINT and the file JOBBIE_CHECKPOINT_FILE. Exit "
      "code 0\n"
      "completes the job, 65 fails it for good, any other fails the attempt. No shell is involved: "
      "use sh -c '…' for one.");
  c->add_option("queue", a->queues, "Queues or patterns")->required();
  c->add_option("-c,--concurrency", a->concurrency, "Commands at a time")
      ->check(CLI::Range(1, 1000));
  c->add_option("--lease", a->lease, "Of each claim; kept alive while the command runs");
  c->add_option("--drain", a->drain, "After SIGTERM: how long commands may go on (25s)");
  c->add_option("--kill-after", a->kill_after,
                "Time between SIGTERM and SIGKILL to a command (5s)");
  c->add_option("--max-jobs", a->max_jobs, "End after so many")
      ->check(CLI::Range(1, 1'000'000'000));
  c->add_option("--worker-id", a->worker_id, "Name of this worker");
  c->add_option("--role", a->roles, "A role it has")->take_all()->allow_extra_args(false);
  c->add_option("--tag", a->tags, "A tag it has")->take_all()->allow_extra_args(false);
  c->add_flag("--once", a->once, "End when there is nothing left to do");
  c->add_flag("--result", a->result, "What the command prints is the job's result");
  c->add_option("--max-result", a->max_result,
                "Most bytes of a result, if the server takes more or less (1048576)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{16} << 20));
  c->add_flag("--logs", a->logs, "What it prints goes to the job's log too");
  c->add_flag("--quiet", a->quiet, "Do not pass on what it prints");
  commands.on(c, [a, &commands](Session& session) {
    a->words = commands.command_line();
    return work(session, *a);
  });
}

}  // namespace jobbie::cli
