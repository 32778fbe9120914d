// Jobbie: JSON over HTTP/1.1 on connections that stay open.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "bench/load/dialects.hpp"

namespace jobbie::bench::load {
namespace {

constexpr int kWaitSeconds = 10;
/// A claim outlives any run, so that no lease ends in the middle of a measurement.
constexpr int kLeaseSeconds = 3600;

std::string request(std::string_view path, std::string_view body) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      path, body.size(), body);
}

std::string put_request(std::size_t batch) {
  const auto job = fmt::format(R"({{"queue":"{}","payload":{}}})", kQueue, payload());
  if (batch == 1) return request("/api/v1/enqueue", job);
  std::string body = R"({"jobs":[)";
  for (std::size_t i = 0; i < batch; ++i) {
    if (i > 0) body += ',';
    body += job;
  }
  return request("/api/v1/enqueue/batch", body + "]}");
}

/// The library's own stops at every quote, of which JSON is full.
std::size_t find(std::string_view in, std::string_view what, std::size_t from = 0) {
  if (from > in.size()) return std::string_view::npos;
  const auto* found = static_cast<const char*>(
      memmem(in.data() + from, in.size() - from, what.data(), what.size()));
  return found == nullptr ? std::string_view::npos : static_cast<std::size_t>(found - in.data());
}

struct Response {
  int status = 0;
  std::string_view body;
  std::size_t bytes = 0;  ///< 0: not all there yet
};

std::optional<std::size_t> content_length(std::string_view head) {
  constexpr std::string_view kName = "content-length:";
  for (auto at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
    const auto line = head.substr(at + 2);
    if (line.size() < kName.size() || strncasecmp(line.data(), kName.data(), kName.size()) != 0)
      continue;
    auto digits = line.substr(kName.size());
    while (digits.starts_with(' ')) digits.remove_prefix(1);
    std::size_t out = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), out).ec == std::errc{})
      return out;
    return std::nullopt;
  }
  return std::nullopt;
}

/// Nothing if this is no response of the kind the server sends.
std::optional<Response> read_response(std::string_view in) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  constexpr std::size_t kLongestHead = 8192;
  const auto end = in.substr(0, kLongestHead).find("\r\n\r\n");
  if (end == std::string_view::npos)
    return in.size() < kLongestHead ? std::optional<Response>(Response{}) : std::nullopt;
  Response out;
  const auto head = in.substr(0, end);
  if (!head.starts_with(kVersion)) return std::nullopt;
  const auto* const status = head.data() + kVersion.size();
  if (std::from_chars(status, head.data() + head.size(), out.status).ec != std::errc{})
    return std::nullopt;
  const auto length = content_length(head);
  if (!length && out.status != 204) return std::nullopt;
  const auto total = end + 4 + length.value_or(0);
  if (in.size() < total) return Response{};
  out.body = in.substr(end + 4, length.value_or(0));
  out.bytes = total;
  return out;
}

/// The value of `"key":` at or after `from` as it is written, and where it ends; empty if none.
std::string_view value_after(std::string_view body, std::string_view key, std::size_t& from) {
  const auto at = find(body, key, from);
  if (at == std::string_view::npos) return {};
  auto begin = at + key.size();
  while (begin < body.size() && (body[begin] == ' ' || body[begin] == ':')) ++begin;
  const auto end = body.find_first_of(",}", begin);
  if (end == std::string_view::npos) return {};
  from = end;
  return body.substr(begin, end - begin);
}

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    return text.substr(1, text.size() - 2);
  return text;
}

/// Where the fetched jobs begin in an answer that may first list what was acked and failed with it;
/// nothing if one of those was refused.
std::optional<std::size_t> after_settled(std::string_view body) {
  std::size_t out = 0;
  for (const std::string_view key : {R"("acked")", R"("failed")"}) {
    const auto begin = find(body, key);
    if (begin == std::string_view::npos) continue;
    const auto end = body.find(']', begin);
    if (find(body.substr(begin, end - begin), R"("code")") != std::string_view::npos)
      return std::nullopt;
    out = std::max(out, end);
  }
  return out;
}

class JobbieDialect final : public Dialect {
 public:
  explicit JobbieDialect(DialectOptions options)
      : put_(put_request(options.put_batch)),
        worker_(fmt::format("bench-{}", options.connection)) {}

  std::size_t hello(std::string& /*out*/) override { return 0; }

  std::size_t put(std::string& out, std::uint64_t stamp_ns) override {
    const auto at = out.size();
    out += put_;
    if (stamp_ns != 0) write_stamp({out.data() + at, out.size() - at}, stamp_ns);
    return 1;
  }

  std::size_t take(std::string& out, Take what) override { return fetch(out, {}, what); }

  std::size_t finish(std::string& out, std::span<const Taken> jobs) override {
    body_.clear();
    auto to = std::back_inserter(body_);
    if (jobs.size() == 1) {
      fmt::format_to(to, R"({{"lease_id":{}}})", jobs[0].lease);
      fmt::format_to(std::back_inserter(out),
                     "POST /api/v1/ack/{} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
                     "application/json\r\nContent-Length: {}\r\n\r\n{}",
                     jobs[0].id, body_.size(), body_);
      return 1;
    }
    body_ += R"({"jobs":)";
    append_jobs(jobs);
    body_ += '}';
    send(out, "/api/v1/ack");
    return 1;
  }

  std::size_t finish_and_take(std::string& out, std::span<const Taken> jobs, Take what) override {
    return fetch(out, jobs, what);
  }

  Answer read(std::string_view in, Step step, TakenList& jobs) override {
    const auto response = read_response(in);
    if (!response) return {Answer::Kind::broken, in.size()};
    if (response->bytes == 0) return {Answer::Kind::incomplete, 0};
    if (response->status == 429 || response->status == 503)
      return {Answer::Kind::busy, response->bytes};
    if (response->status < 200 || response->status > 299)
      return {Answer::Kind::broken, response->bytes};
    return {accept(response->body, step, jobs) ? Answer::Kind::fine : Answer::Kind::broken,
            response->bytes};
  }

 private:
  /// Whether all that was asked for was done. A job that could not be acked among many is named
  /// with a code in an answer that is otherwise fine.
  static bool accept(std::string_view body, Step step, TakenList& jobs) {
    if (step == Step::finish) return find(body, R"("code")") == std::string_view::npos;
    if (step != Step::take && step != Step::finish_and_take) return true;
    const auto from = after_settled(body);
    return from && add_jobs(body.substr(*from), jobs);
  }

  std::size_t fetch(std::string& out, std::span<const Taken> acked, Take what) {
    body_.clear();
    auto to = std::back_inserter(body_);
    fmt::format_to(to, R"({{"queues":["{}"],"worker_id":"{}","timeout":{},"lease_duration":{})",
                   kQueue, worker_, what.wait ? kWaitSeconds : 0, kLeaseSeconds);
    if (what.count > 1) fmt::format_to(to, R"(,"count":{})", what.count);
    if (!acked.empty()) {
      body_ += R"(,"ack":)";
      append_jobs(acked);
    }
    body_ += '}';
    send(out, "/api/v1/fetch");
    return 1;
  }

  void append_jobs(std::span<const Taken> jobs) {
    body_ += '[';
    for (const auto& job : jobs) {
      if (body_.back() != '[') body_ += ',';
      body_ += R"({"job_id":")";
      body_ += job.id;
      body_ += R"(","lease_id":)";
      body_ += job.lease;
      body_ += '}';
    }
    body_ += ']';
  }

  void send(std::string& out, std::string_view path) const {
    fmt::format_to(std::back_inserter(out),
                   "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                   "Content-Length: {}\r\n\r\n",
                   path, body_.size());
    out += body_;
  }

  /// Ids, leases and stamps are found each on its own path, so that the order of fields is the
  /// server's to choose; each job has one of each.
  static bool add_jobs(std::string_view body, TakenList& jobs) {
    std::size_t id_at = 0;
    std::size_t lease_at = 0;
    std::size_t stamp_at = 0;
    for (;;) {
      const auto id = unquoted(value_after(body, R"("job_id")", id_at));
      if (id.empty() || id == "null") return true;
      const auto lease = value_after(body, R"("lease_id")", lease_at);
      if (lease.empty()) return false;
      auto& job = jobs.add();
      job.id = id;
      job.lease = lease;
      stamp_at = find(body, R"("stamp")", stamp_at);
      job.stamp_ns = stamp_at == std::string_view::npos ? 0 : read_stamp(body.substr(stamp_at));
      if (stamp_at != std::string_view::npos) ++stamp_at;
    }
  }

  std::string put_;
  std::string worker_;
  std::string body_;
};

}  // namespace

std::unique_ptr<Dialect> make_jobbie_dialect(DialectOptions options) {
  return std::make_unique<JobbieDialect>(options);
}

}  // namespace jobbie::bench::load
