// The progress of a bulk operation as server-sent events.
//
// One question to the node is under way at a time. It comes back when the operation has moved on,
// or after a moment, and is then told and asked again; so there is nothing to be cleaned up when
// the client goes.
#include <string>
#include <utility>

#include "call/gate.hpp"
#include "face/exchange.hpp"
#include "face/native/bulk.hpp"
#include "face/problem.hpp"

namespace jobbie::face::native {
namespace {

class Watch final : public call::Call {
 public:
  struct Viewer {
    call::Service* service = nullptr;
    http::Responder responder;  ///< until the first answer
    http::Stream stream;
    bool began = false;
  };
  Watch(call::Inbox& inbox, base::BulkId bulk, call::Principal who, Viewer viewer)
      : Call(inbox), bulk_(bulk), viewer_(std::move(viewer)) {
    principal = std::move(who);
  }

  void finish() override {
    const auto* found = std::get_if<call::BulksAnswer>(&answer);
    const bool gone = found == nullptr || found->bulks.empty();
    if (!viewer_.began && gone) {
      Answer out;
      write(trouble != call::Trouble::none ? problem_of(trouble)
                                           : not_found("bulk operation", bulk_.text()),
            out);
      return send(viewer_.responder, std::move(out));
    }
    if (gone || is_revoked()) return;
    show(found->bulks[0]);
    if (found->bulks[0].status == model::BulkStatus::processing && viewer_.stream.open())
      watch_on(found->bulks[0].cursor);
  }

 private:
  /// The node tells of it where the call waited; it may also have happened on the way.
  [[nodiscard]] bool is_revoked() const {
    return !call::is_still_valid(principal, viewer_.service->keys());
  }

  void show(const model::BulkRecord& bulk) {
    if (!viewer_.began) {
      viewer_.began = true;
      http::Response head{.status = 200, .content_type = "text/event-stream"};
      head.headers.emplace_back("cache-control", "no-store");
      viewer_.stream = viewer_.responder.stream(std::move(head));
    }
    std::string event = bulk.status == model::BulkStatus::processing ? "event: progress\ndata: "
                                                                     : "event: finished\ndata: ";
    base::json::Writer json(event);
    write_bulk(json, bulk);
    viewer_.stream.write(event.append("\n\n"));
  }

  void watch_on(std::uint64_t cursor) {
    call::Service& service = *viewer_.service;
    auto next = std::make_unique<Watch>(inbox(), bulk_, principal, std::move(viewer_));
    next->query = call::BulksQuery{.bulk = bulk_, .seen = cursor};
    service.submit(std::move(next));
    service.flush();
  }

  base::BulkId bulk_;
  Viewer viewer_;
};

}  // namespace

void stream_progress(const BulkFollow& wanted, call::Service& service, call::Inbox& inbox,
                     http::Responder responder) {
  auto watch = std::make_unique<Watch>(
      inbox, wanted.bulk, wanted.principal,
      Watch::Viewer{
          .service = &service, .responder = std::move(responder), .stream = {}, .began = false});
  watch->query = call::BulksQuery{.bulk = wanted.bulk, .seen = {}};
  service.submit(std::move(watch));
  service.flush();
}

}  // namespace jobbie::face::native
