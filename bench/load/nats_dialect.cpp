// NATS with JetStream: publish with acknowledgement, a pull consumer, unconfirmed acks of messages.
//
// The stream and the consumer must exist. An ack is a message without an answer, as the clients of
// that system send it by default, so finishing a job and asking for the next one go out together.
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "bench/load/dialects.hpp"

namespace jobbie::bench::load {
namespace {

constexpr std::uint64_t kWaitNanoseconds = 10'000'000'000;
constexpr std::size_t kMostWords = 6;

/// `MSG subject sid [reply] bytes` or `HMSG subject sid [reply] header-bytes bytes`.
struct MessageLine {
  std::string_view reply;
  std::size_t bytes = 0;
  bool status = false;
};

std::optional<MessageLine> read_message_line(std::string_view line) {
  std::array<std::string_view, kMostWords> words;
  std::size_t count = 0;
  while (!line.empty() && count < words.size()) {
    const auto space = line.find(' ');
    words[count++] = line.substr(0, space);
    line = space == std::string_view::npos ? std::string_view{} : line.substr(space + 1);
  }
  MessageLine out;
  out.status = words[0] == "HMSG";
  const std::size_t least = out.status ? 5 : 4;
  if (count < least) return std::nullopt;
  if (count > least) out.reply = words[3];
  const auto size = words[count - 1];
  if (std::from_chars(size.data(), size.data() + size.size(), out.bytes).ec != std::errc{})
    return std::nullopt;
  return out;
}

class NatsDialect final : public Dialect {
 public:
  explicit NatsDialect(DialectOptions options)
      : batch_(options.put_batch), inbox_(fmt::format("_INBOX.{}", options.connection)) {
    for (std::size_t i = 0; i < batch_; ++i)
      fmt::format_to(std::back_inserter(put_), "PUB {} {} {}\r\n{}\r\n", kQueue, inbox_,
                     kPayloadBytes, payload());
  }

  std::size_t hello(std::string& out) override {
    fmt::format_to(std::back_inserter(out),
                   "CONNECT {{\"verbose\":false,\"pedantic\":false,\"headers\":true,"
                   "\"no_responders\":true,\"protocol\":1}}\r\nSUB {} 1\r\nPING\r\n",
                   inbox_);
    return 1;
  }

  std::size_t put(std::string& out, std::uint64_t stamp_ns) override {
    const auto at = out.size();
    out += put_;
    if (stamp_ns != 0) write_stamp({out.data() + at, out.size() - at}, stamp_ns);
    return batch_;
  }

  std::size_t take(std::string& out, Take what) override {
    const auto body =
        what.wait ? fmt::format(R"({{"batch":{},"expires":{}}})", what.count, kWaitNanoseconds)
                  : fmt::format(R"({{"batch":{},"no_wait":true}})", what.count);
    fmt::format_to(std::back_inserter(out),
                   "PUB $JS.API.CONSUMER.MSG.NEXT.{0}.{0} {1} {2}\r\n{3}\r\n", kQueue, inbox_,
                   body.size(), body);
    return what.count;
  }

  std::size_t finish(std::string& out, std::span<const Taken> jobs) override {
    for (const auto& job : jobs)
      fmt::format_to(std::back_inserter(out), "PUB {} 4\r\n+ACK\r\n", job.id);
    return 0;
  }

  Answer read(std::string_view in, Step step, TakenList& jobs) override {
    const auto end = in.find("\r\n");
    if (end == std::string_view::npos) return {Answer::Kind::incomplete, 0};
    const auto line = in.substr(0, end);
    if (line == "PONG") return {Answer::Kind::fine, end + 2};
    // The server tolerates pings without an answer for longer than any run.
    if (line == "PING" || line.starts_with("INFO ")) return {Answer::Kind::skip, end + 2};
    const auto message = line.starts_with("MSG ") || line.starts_with("HMSG ")
                             ? read_message_line(line)
                             : std::nullopt;
    if (!message) return {Answer::Kind::broken, in.size()};
    const auto total = end + 2 + message->bytes + 2;
    if (in.size() < total) return {Answer::Kind::incomplete, 0};
    const auto body = in.substr(end + 2, message->bytes);
    if (step == Step::put)
      return {body.find("\"error\"") == std::string_view::npos && !message->status
                  ? Answer::Kind::fine
                  : Answer::Kind::broken,
              total};
    if (message->status || message->reply.empty()) return {Answer::Kind::last, total};
    auto& job = jobs.add();
    job.id = message->reply;
    job.stamp_ns = read_stamp(body);
    return {Answer::Kind::fine, total};
  }

 private:
  std::size_t batch_;
  std::string inbox_;
  std::string put_;
};

}  // namespace

std::unique_ptr<Dialect> make_nats_dialect(DialectOptions options) {
  return std::make_unique<NatsDialect>(options);
}

}  // namespace jobbie::bench::load
