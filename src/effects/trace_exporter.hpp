// Sends spans of jobs to an OpenTelemetry collector (OTLP over HTTP, in JSON).
//
// It reads the stream of events as any watcher does, so the node never waits for it. While the
// collector is away, spans are dropped: what cannot be sent is not kept, and what leaves the ring
// of events meanwhile is not looked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/journal.hpp"
#include "base/url.hpp"
#include "call/bell.hpp"
#include "call/call.hpp"
#include "effects/http_client.hpp"
#include "effects/spans.hpp"

namespace jobbie::effects {

class TraceExporter final : public call::EventListener {
 public:
  /// `endpoint` is the collector's base; `/v1/traces` is added. All but it must outlive the
  /// exporter. The operator names the collector, so it may be anywhere.
  TraceExporter(call::Service& service, base::Url endpoint, base::Journal& journal);
  ~TraceExporter() override;
  TraceExporter(const TraceExporter&) = delete;
  TraceExporter& operator=(const TraceExporter&) = delete;

  void wake() override { bell_.ring(); }

 private:
  static AllowList only(const base::Url& endpoint);
  void run();
  /// Fills the batch; false: there is nothing new.
  bool gather();
  void send();

  call::Service& service_;
  base::Url endpoint_;
  base::Journal& journal_;
  AllowList allow_;
  HttpClient client_;
  call::Bell bell_;
  std::atomic<bool> stopping_ = false;

  // The thread's own.
  call::EventPosition at_;
  SpanBatch batch_;
  std::uint64_t dropped_ = 0;  ///< since the collector was last heard of
  std::thread thread_;
};

}  // namespace jobbie::effects
