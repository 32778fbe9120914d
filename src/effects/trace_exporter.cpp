// One thread: gather, send, or let go.
#include "effects/trace_exporter.hpp"

#include <chrono>
#include <utility>

namespace jobbie::effects {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kSpansAtOnce = 512;
constexpr std::size_t kEventsAPage = 1'000;
constexpr milliseconds kQuiet{1'000};
/// Between an event and the request that tells of it, so that others can join.
constexpr milliseconds kGathering{200};
/// After a failure: what comes meanwhile is likely to be lost, and nobody is hurried.
constexpr milliseconds kPause{2'000};
constexpr milliseconds kSendTimeout{5'000};

base::Url with_path(base::Url url) {
  constexpr std::string_view kPath = "/v1/traces";
  if (url.target.ends_with(kPath)) return url;
  if (url.target.ends_with('/')) url.target.pop_back();
  url.target += kPath;
  return url;
}

}  // namespace

AllowList TraceExporter::only(const base::Url& endpoint) {
  AllowList allow;
  static_cast<void>(allow.add(endpoint.host).has_value());
  return allow;
}

TraceExporter::TraceExporter(call::Service& service, base::Url endpoint, base::Journal& journal)
    : service_(service),
      endpoint_(with_path(std::move(endpoint))),
      journal_(journal),
      allow_(only(endpoint_)),
      client_(allow_) {
  auto* feed = service_.events();
  if (feed == nullptr) return;
  feed->add_listener(*this);
  at_ = feed->end();
  thread_ = std::thread([this] { run(); });
}

TraceExporter::~TraceExporter() {
  stopping_ = true;
  client_.stop();
  bell_.ring();
  if (thread_.joinable()) thread_.join();
  if (auto* feed = service_.events()) feed->remove_listener(*this);
}

void TraceExporter::run() {
  std::uint64_t heard = 0;
  while (!stopping_) {
    bell_.wait(heard, kQuiet);
    while (!stopping_ && gather()) {
      if (batch_.size() < kSpansAtOnce) {
        std::this_thread::sleep_for(kGathering);
        while (batch_.size() < kSpansAtOnce && gather()) {
        }
      }
      if (batch_.size() > 0) send();
    }
  }
}

bool TraceExporter::gather() {
  const auto page = service_.events()->read(at_, kEventsAPage);
  if (page.gone) {
    at_ = page.end;
    return false;
  }
  if (page.batches.empty()) return false;
  // All nodes see all events; the one that leads tells of them.
  const bool leads = service_.health().leader;
  for (const auto& batch : page.batches) {
    for (std::uint32_t i = 0; i < batch->events.size(); ++i) {
      if (batch->index == at_.index && i + 1 <= at_.ordinal) continue;
      if (leads) batch_.add(batch->events[i]);
    }
    at_ = {.index = batch->index, .ordinal = static_cast<std::uint32_t>(batch->events.size())};
  }
  return true;
}

void TraceExporter::send() {
  const auto spans = batch_.size();
  const auto body = batch_.take();
  const auto status =
      client_.send({.url = endpoint_, .headers = {}, .body = body, .timeout = kSendTimeout});
  if (status && *status >= 200 && *status < 300) {
    if (const auto lost = std::exchange(dropped_, 0); lost > 0)
      journal_.write(base::Level::info, "traces_sent_again", {{"dropped", lost}});
    return;
  }
  if (stopping_) return;
  if (dropped_ == 0) {
    const std::string reason =
        status ? "the collector answered " + std::to_string(*status) : status.error().message;
    journal_.write(
        base::Level::warning, "traces_dropped",
        {{"reason", std::string_view(reason)}, {"host", std::string_view(endpoint_.host)}});
  }
  dropped_ += spans;
  for (milliseconds waited{0}; waited < kPause && !stopping_; waited += kGathering)
    std::this_thread::sleep_for(kGathering);
}

}  // namespace jobbie::effects
