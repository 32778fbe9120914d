// A client of the HTTP API of Jobbie: blocking calls over kept connections.
//
//     auto client = jobbie::client::Client::open({.url = "http://127.0.0.1:8080"});
//     auto job = client->enqueue({.queue = "emails.send", .payload = R"({"user": 7})"});
//     if (!job) std::cerr << job.error().message << "\n";
//
// A call is repeated, with growing and jittered pauses, where that is safe: when nothing was sent,
// when the server refused for the moment (429, 503), and after a broken exchange if the request may
// be sent twice (reads, and requests with an idempotency key, which enqueue always has).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/error.hpp"
#include "client/events.hpp"
#include "client/interrupt.hpp"
#include "client/json.hpp"

namespace jobbie::client {

struct Options {
  std::string url = "http://127.0.0.1:8080";
  std::string token;  ///< sent as Bearer; empty: none
  std::chrono::milliseconds connect_timeout{5000};
  std::chrono::milliseconds timeout{30'000};
  int retries = 4;
  bool retry_connect = true;  ///< also when nobody listens at the address
  std::string agent = "jobbie-cpp";
  std::string tls_ca;         ///< PEM file with the authorities to trust; empty: the system's
  bool tls_insecure = false;  ///< takes any certificate: whoever sits between reads everything
};

/// JOBBIE_URL, JOBBIE_TLS_CA, and the token from JOBBIE_TOKEN or the file that JOBBIE_TOKEN_FILE
/// names.
Result<Options> options_from_environment();
/// A secret in a file, without the line break at its end.
Result<std::string> read_token_file(const std::string& path);

struct Request {
  std::string method = "GET";
  std::string target;  ///< path and query, behind the address's own prefix
  std::string body;    ///< JSON; empty: none
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<std::chrono::milliseconds> timeout;
  bool repeatable = false;  ///< a POST that may be sent twice
  const Interrupt* interrupt = nullptr;
};

struct Answer {
  int status = 0;
  std::string body;
};

/// Who takes an answer that is too large to be kept. Both end the download by giving false.
struct Download {
  /// The head has come; names are in small letters.
  std::function<bool(const std::vector<std::pair<std::string, std::string>>& headers)> on_head;
  std::function<bool(std::string_view part)> on_part;
};

/// What the usual jobs need has a name; anything else that docs/api.md lists goes into `fields`, by
/// name and JSON text.
struct NewJob {
  std::string queue;
  std::string payload = "{}";  ///< JSON
  std::string priority;        ///< "critical", "high", "normal" or a whole number
  std::optional<int> max_retries;
  std::string delay;         ///< "10m"
  std::string scheduled_at;  ///< RFC 3339
  std::string unique_key;
  std::string group;
  std::string tags;  ///< a JSON object
  std::vector<std::pair<std::string, std::string>> fields;
};
/// The body of an enqueue request.
std::string to_json(const NewJob& job);

struct Enqueued {
  std::string job_id;
  std::string status;  ///< "pending", "scheduled", "waiting" or "duplicate"
  bool unique_existing = false;
};

/// May be used by several threads at once; each exchange has a connection of its own. A Worker
/// shares its connections, so a Client may go, or be moved or assigned to, before its workers do.
class Client {
 public:
  static Result<Client> open(Options options);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  const Options& options() const;

  Result<Enqueued> enqueue(const NewJob& job);
  /// All or none; the ids in the order of the jobs.
  Result<std::vector<std::string>> enqueue_many(const std::vector<NewJob>& jobs);
  /// Everything about a job, as docs/api.md shows it.
  Result<Document> get(std::string_view job_id);
  /// "cancelled", or "cancelling" for one that is running.
  Result<std::string> cancel(std::string_view job_id);
  /// Waits until the job has ended, and gives it.
  Result<Document> wait(std::string_view job_id, std::chrono::milliseconds at_most);

  /// Any call: an answer of 400 or above is an Error.
  Result<Answer> send(const Request& request);
  /// The same, with the answer read as JSON.
  Result<Document> call(const Request& request);
  Result<Document> read(std::string target);
  Result<Document> post(std::string target, std::string body = {});
  /// Reads an event stream until `on_event` gives false, the server ends it, or the interrupt.
  /// `on_open` is told when the server has begun it.
  Result<void> stream(const Request& request, const std::function<bool(const Event&)>& on_event,
                      const std::function<void()>& on_open = {});
  /// Reads a body of any length in parts; true if all of it came. `timeout` is for the head, and
  /// the client's own for each part. Never repeated.
  Result<bool> download(const Request& request, const Download& download);

 private:
  friend class Worker;
  struct Pool;
  explicit Client(std::shared_ptr<Pool> pool);
  /// Another client with the same settings and the same connections.
  Client share() const;
  Result<Answer> send_once(const Request& request, bool& sent);
  /// Shared with workers, whose handlers may run longer than whoever made the client.
  std::shared_ptr<Pool> pool_;
};

/// A key that nobody else has.
std::string new_idempotency_key();

}  // namespace jobbie::client
