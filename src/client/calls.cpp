// The calls of the client that have a name, and its settings from the environment.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "client/client.hpp"
#include "client/url.hpp"

namespace jobbie::client {
namespace {

constexpr std::size_t kMaxToken = 4096;
constexpr std::chrono::milliseconds kFirstLook{20};
constexpr std::chrono::milliseconds kLongestLook{1000};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

void add_text(std::string& out, std::string_view name, const std::string& value) {
  if (!value.empty()) out += ",\"" + std::string(name) + "\":" + quoted(value);
}

bool has_ended(const Document& job) {
  const std::string state = job["state"].text();
  return state == "completed" || state == "dead" || state == "cancelled";
}

std::string job_path(std::string_view job_id) { return "/api/v1/jobs/" + encoded(job_id); }

}  // namespace

Result<std::string> read_token_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (in) text.assign(std::istreambuf_iterator<char>(in), {});
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (!in.bad() && !text.empty() && text.size() <= kMaxToken) return text;
  return std::unexpected(Error{.failure = Failure::settings,
                               .code = "bad_token_file",
                               .message = "no token could be read from " + path});
}

Result<Options> options_from_environment() {
  Options options;
  if (auto url = variable("JOBBIE_URL"); !url.empty()) options.url = std::move(url);
  options.tls_ca = variable("JOBBIE_TLS_CA");
  options.token = variable("JOBBIE_TOKEN");
  if (const auto path = variable("JOBBIE_TOKEN_FILE"); options.token.empty() && !path.empty()) {
    auto token = read_token_file(path);
    if (!token) return std::unexpected(token.error());
    options.token = std::move(*token);
  }
  return options;
}

std::string to_json(const NewJob& job) {
  std::string out = "{\"queue\":" + quoted(job.queue) + ",\"payload\":" + job.payload;
  if (!job.priority.empty()) {
    const bool number = job.priority.find_first_not_of("-0123456789") == std::string::npos;
    out += ",\"priority\":" + (number ? job.priority : quoted(job.priority));
  }
  if (job.max_retries) out += ",\"max_retries\":" + std::to_string(*job.max_retries);
  add_text(out, "delay", job.delay);
  add_text(out, "scheduled_at", job.scheduled_at);
  add_text(out, "unique_key", job.unique_key);
  add_text(out, "group", job.group);
  if (!job.tags.empty()) out += ",\"tags\":" + job.tags;
  for (const auto& [name, value] : job.fields) out += "," + quoted(name) + ":" + value;
  return out + "}";
}

Result<Enqueued> Client::enqueue(const NewJob& job) {
  auto answer = call({.method = "POST",
                      .target = "/api/v1/enqueue",
                      .body = to_json(job),
                      .headers = {{"Idempotency-Key", new_idempotency_key()}}});
  if (!answer) return std::unexpected(answer.error());
  return Enqueued{.job_id = (*answer)["job_id"].text(),
                  .status = (*answer)["status"].text(),
                  .unique_existing = (*answer)["unique_existing"].boolean()};
}

Result<std::vector<std::string>> Client::enqueue_many(const std::vector<NewJob>& jobs) {
  std::string body = "{\"jobs\":[";
  for (std::size_t i = 0; i < jobs.size(); ++i) body += (i == 0 ? "" : ",") + to_json(jobs[i]);
  auto answer = call({.method = "POST",
                      .target = "/api/v1/enqueue/batch",
                      .body = body + "]}",
                      .headers = {{"Idempotency-Key", new_idempotency_key()}}});
  if (!answer) return std::unexpected(answer.error());
  std::vector<std::string> ids;
  for (const Json& id : (*answer)["job_ids"].items()) ids.push_back(id.text());
  return ids;
}

Result<Document> Client::get(std::string_view job_id) { return read(job_path(job_id)); }

Result<std::string> Client::cancel(std::string_view job_id) {
  auto answer = post(job_path(job_id) + "/cancel");
  if (!answer) return std::unexpected(answer.error());
  return (*answer)["status"].text();
}

Result<Document> Client::wait(std::string_view job_id, std::chrono::milliseconds at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  auto pause = kFirstLook;
  while (true) {
    auto job = get(job_id);
    if (!job || has_ended(*job)) return job;
    if (std::chrono::steady_clock::now() + pause > deadline)
      return std::unexpected(
          Error{.failure = Failure::timed_out,
                .message = "the job has not ended; it is " + (*job)["state"].text()});
    std::this_thread::sleep_for(pause);
    pause = std::min(kLongestLook, pause * 3 / 2);
  }
}

}  // namespace jobbie::client
