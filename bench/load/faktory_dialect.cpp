// The work protocol of Faktory: lines of JSON out, answers framed as Redis frames them.
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "bench/load/dialects.hpp"

namespace jobbie::bench::load {
namespace {

constexpr std::size_t kIdDigits = 20;
constexpr std::string_view kIdKey = R"("jid":")";
constexpr std::uint64_t kIdsOfAConnection = 1'000'000'000'000;

class FaktoryDialect final : public Dialect {
 public:
  explicit FaktoryDialect(DialectOptions options)
      : batch_(options.put_batch),
        connection_(options.connection),
        next_id_((options.connection + 1) * kIdsOfAConnection) {
    const auto job =
        fmt::format(R"({{"jid":"{}","jobtype":"{}","queue":"{}","reserve_for":3600,"args":[{}]}})",
                    std::string(kIdDigits, '0'), kQueue, kQueue, payload());
    put_ = batch_ == 1 ? "PUSH " : "PUSHB [";
    for (std::size_t i = 0; i < batch_; ++i) {
      if (i > 0) put_ += ',';
      id_at_.push_back(put_.size() + 1 + kIdKey.size());
      put_ += job;
    }
    put_ += batch_ == 1 ? "\r\n" : "]\r\n";
  }

  std::size_t hello(std::string& out) override {
    fmt::format_to(std::back_inserter(out),
                   "HELLO {{\"v\":2,\"hostname\":\"bench\",\"wid\":\"bench-{:06}\",\"pid\":1,"
                   "\"labels\":[]}}\r\n",
                   connection_);
    return 2;  // The server greets first.
  }

  std::size_t put(std::string& out, std::uint64_t stamp_ns) override {
    const auto at = out.size();
    out += put_;
    // Ids of jobs in work must differ, and here the producer makes them.
    for (const auto id_at : id_at_) {
      auto id = next_id_++;
      for (auto i = kIdDigits; i-- > 0; id /= 10)
        out[at + id_at + i] = static_cast<char>('0' + id % 10);
    }
    if (stamp_ns != 0) write_stamp({out.data() + at, out.size() - at}, stamp_ns);
    return 1;
  }

  /// There is no fetch of several, nor one that does not wait: the server answers within two
  /// seconds.
  std::size_t take(std::string& out, Take what) override {
    for (std::size_t i = 0; i < what.count; ++i)
      fmt::format_to(std::back_inserter(out), "FETCH {}\r\n", kQueue);
    return what.count;
  }

  std::size_t finish(std::string& out, std::span<const Taken> jobs) override {
    for (const auto& job : jobs)
      fmt::format_to(std::back_inserter(out), "ACK {{\"jid\":\"{}\"}}\r\n", job.id);
    return jobs.size();
  }

  Answer read(std::string_view in, Step step, TakenList& jobs) override {
    const auto end = in.find("\r\n");
    if (end == std::string_view::npos) return {Answer::Kind::incomplete, 0};
    if (in.starts_with('+')) return {Answer::Kind::fine, end + 2};
    int size = 0;
    if (!in.starts_with('$') ||
        std::from_chars(in.data() + 1, in.data() + end, size).ec != std::errc{})
      return {Answer::Kind::broken, end + 2};
    if (size < 0) return {Answer::Kind::fine, end + 2};
    const auto total = end + 2 + static_cast<std::size_t>(size) + 2;
    if (in.size() < total) return {Answer::Kind::incomplete, 0};
    const auto body = in.substr(end + 2, static_cast<std::size_t>(size));
    const auto id_at = body.find(kIdKey);
    if (step == Step::put) {
      // The answer of a batch names the jobs that were refused.
      return {body == "{}" ? Answer::Kind::fine : Answer::Kind::broken, total};
    }
    if (id_at == std::string_view::npos) return {Answer::Kind::fine, total};
    auto& job = jobs.add();
    job.id = body.substr(id_at + kIdKey.size(), kIdDigits);
    job.stamp_ns = read_stamp(body);
    return {Answer::Kind::fine, total};
  }

 private:
  std::size_t batch_;
  std::size_t connection_;
  std::uint64_t next_id_;
  std::string put_;
  std::vector<std::size_t> id_at_;
};

}  // namespace

std::unique_ptr<Dialect> make_faktory_dialect(DialectOptions options) {
  return std::make_unique<FaktoryDialect>(options);
}

}  // namespace jobbie::bench::load
