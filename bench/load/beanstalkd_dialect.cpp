// beanstalkd's own text protocol. It has no batches: many jobs are many commands in one write.
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "bench/load/dialects.hpp"

namespace jobbie::bench::load {
namespace {

constexpr int kWaitSeconds = 10;
constexpr int kReserveSeconds = 3600;

std::string put_commands(std::size_t batch) {
  const auto one =
      fmt::format("put 1024 0 {} {}\r\n{}\r\n", kReserveSeconds, kPayloadBytes, payload());
  std::string out;
  for (std::size_t i = 0; i < batch; ++i) out += one;
  return out;
}

class BeanstalkdDialect final : public Dialect {
 public:
  explicit BeanstalkdDialect(DialectOptions options)
      : batch_(options.put_batch), put_(put_commands(options.put_batch)) {}

  std::size_t hello(std::string& out) override {
    fmt::format_to(std::back_inserter(out), "use {0}\r\nwatch {0}\r\nignore default\r\n", kQueue);
    return 3;
  }

  std::size_t put(std::string& out, std::uint64_t stamp_ns) override {
    const auto at = out.size();
    out += put_;
    if (stamp_ns != 0) write_stamp({out.data() + at, out.size() - at}, stamp_ns);
    return batch_;
  }

  std::size_t take(std::string& out, Take what) override {
    for (std::size_t i = 0; i < what.count; ++i)
      fmt::format_to(std::back_inserter(out), "reserve-with-timeout {}\r\n",
                     what.wait && i == 0 ? kWaitSeconds : 0);
    return what.count;
  }

  std::size_t finish(std::string& out, std::span<const Taken> jobs) override {
    for (const auto& job : jobs) fmt::format_to(std::back_inserter(out), "delete {}\r\n", job.id);
    return jobs.size();
  }

  Answer read(std::string_view in, Step /*step*/, TakenList& jobs) override {
    const auto end = in.find("\r\n");
    if (end == std::string_view::npos) return {Answer::Kind::incomplete, 0};
    const auto line = in.substr(0, end);
    if (line.starts_with("RESERVED ")) return read_job(in, line, jobs);
    for (const std::string_view fine : {"INSERTED ", "DELETED", "TIMED_OUT", "USING ", "WATCHING "})
      if (line.starts_with(fine)) return {Answer::Kind::fine, end + 2};
    return {Answer::Kind::broken, end + 2};
  }

 private:
  static Answer read_job(std::string_view in, std::string_view line, TakenList& jobs) {
    constexpr std::string_view kReserved = "RESERVED ";
    const auto space = line.find(' ', kReserved.size());
    std::size_t size = 0;
    if (space == std::string_view::npos ||
        std::from_chars(line.data() + space + 1, line.data() + line.size(), size).ec != std::errc{})
      return {Answer::Kind::broken, in.size()};
    const auto total = line.size() + 2 + size + 2;
    if (in.size() < total) return {Answer::Kind::incomplete, 0};
    auto& job = jobs.add();
    job.id = line.substr(kReserved.size(), space - kReserved.size());
    job.stamp_ns = read_stamp(in.substr(line.size() + 2, size));
    return {Answer::Kind::fine, total};
  }

  std::size_t batch_;
  std::string put_;
};

}  // namespace

std::unique_ptr<Dialect> make_beanstalkd_dialect(DialectOptions options) {
  return std::make_unique<BeanstalkdDialect>(options);
}

}  // namespace jobbie::bench::load
