// Asking, writing, asking again.
#include "face/native/log_stream.hpp"

#include <memory>
#include <string>
#include <utility>

#include "base/json_writer.hpp"
#include "call/gate.hpp"
#include "face/exchange.hpp"
#include "face/native/logs.hpp"
#include "face/native/sse.hpp"

namespace jobbie::face::native {
namespace {

constexpr std::uint32_t kLinesAtOnce = 200;

/// A question of a stream; it finds nobody if that has ended meanwhile.
class LogQuestion final : public call::Call {
 public:
  LogQuestion(EventHub& hub, std::uint64_t number)
      : Call(hub.inbox()), hub_(hub), number_(number) {}
  void finish() override {
    hub_.with(number_, [this](Watcher& watcher) {
      static_cast<LogStream&>(watcher).take(trouble, answer);  // numbers are not given twice
    });
  }

 private:
  EventHub& hub_;
  std::uint64_t number_;
};

}  // namespace

LogStream::LogStream(EventHub& hub, std::uint64_t number, http::Responder responder,
                     const LogFollow& wanted, call::EventPosition at)
    : hub_(hub), number_(number), responder_(std::move(responder)), wanted_(wanted), at_(at) {}

void LogStream::ask() {
  look_again_ = false;
  asking_ = true;
  auto question = std::make_unique<LogQuestion>(hub_, number_);
  question->query =
      call::LogsQuery{.job = wanted_.job, .after = wanted_.after, .limit = kLinesAtOnce};
  question->principal.caller = wanted_.principal.caller;
  hub_.service().submit(std::move(question));
  hub_.service().flush();
}

Watcher::Standing LogStream::serve(EventPages& pages) {
  if (over_ || (begun_ && !stream_.open())) return Standing::over;
  for (;;) {
    auto& page = pages.behind(at_);
    if (page.gone()) look_again_ = true;
    if (page.items().empty()) {
      at_ = page.gone() ? page.end() : at_;
      break;
    }
    for (auto& item : page.items()) {
      if (item.event->job == wanted_.job) look_again_ = true;
      at_ = item.at;
    }
  }
  if (asking_ || !look_again_) return Standing::up_to_date;
  if (begun_ && stream_.pending_bytes() >= kUnreadBytes) return Standing::behind;
  ask();
  return Standing::up_to_date;
}

void LogStream::beat() {
  if (begun_) stream_.write(": still here\n\n");
  if (look_again_) hub_.pump_soon();
}

void LogStream::take(call::Trouble trouble, const call::Answer& answer) {
  asking_ = false;
  const auto* log = std::get_if<call::JobLog>(&answer);
  const bool failed = trouble != call::Trouble::none || log == nullptr;
  const bool hidden = !failed && !call::may_see(wanted_.principal, log->queue.view());
  if (!begun_ && (failed || !log->found || hidden)) {
    Answer out;
    write(trouble != call::Trouble::none ? problem_of(trouble)
          : log == nullptr               ? Problem{}
                                         : not_found("job", wanted_.job.text()),
          out);
    over_ = true;
    send(responder_, std::move(out));
    return hub_.pump_soon();
  }
  if (!begun_) {
    begun_ = true;
    stream_ = responder_.stream(stream_head());
  }
  if (failed) {
    look_again_ = true;  // with the next event or sign of life: the node has enough to do
    return;
  }
  write_lines(*log);
  hub_.pump_soon();
}

void LogStream::write_lines(const call::JobLog& log) {
  std::string text;
  auto number = log.page.first;
  for (const auto& line : log.page.lines) {
    std::string data;
    base::json::Writer json(data);
    write_log_line(json, number, line);
    append_message({.id = std::to_string(number), .type = "log", .data = data}, text);
    wanted_.after = number++;
  }
  if (log.page.lines.size() == kLinesAtOnce) {
    look_again_ = true;
  } else if (!log.found || model::has_ended(log.state)) {
    const std::string data =
        std::string(R"({"type":"end","state":)") +
        (log.found ? "\"" + std::string(model::to_string(log.state)) + "\"" : "null") + "}";
    append_message({.id = {}, .type = "end", .data = data}, text);
    over_ = true;
  }
  if (!text.empty()) stream_.write(text);
}

}  // namespace jobbie::face::native
