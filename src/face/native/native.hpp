// The native HTTP face: `/api/v1`, `/healthz`, `/readyz`. docs/api.md is its reference.
//
// It turns requests into commands and replies into answers, and holds no job logic. `prepare()`
// does the first half without any connection, an Exchange the second, so that tests need no socket.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "call/call.hpp"
#include "call/gate.hpp"
#include "face/answer.hpp"
#include "face/exchange.hpp"
#include "face/inbox.hpp"
#include "face/problem.hpp"
#include "http/limits.hpp"
#include "http/router.hpp"
#include "http/server.hpp"

namespace jobbie::face {

struct NativeOptions {
  /// Of a payload, result or checkpoint: 413 beyond. At most model::limits::kPayload.
  std::size_t max_payload_bytes = std::size_t{1} << 20;
  /// Of the body of a request with many jobs: 413 beyond.
  std::size_t max_batch_bytes = std::size_t{32} << 20;
  /// How long a fetch may wait.
  base::Duration max_wait = base::seconds(60);
  /// Of the program, for the metrics.
  std::string version = "unknown";
  /// Every request must show a key, but for the few that are open to all.
  bool require_keys = false;
};

namespace native {
class EventHub;
struct BulkFollow;
struct EventWatch;
struct LogFollow;
struct Route;
}  // namespace native

/// A request that was read: a call for the node, a stream to begin, or an answer that needs
/// neither.
struct Prepared {
  Prepared();
  Prepared(Prepared&&) noexcept;
  Prepared& operator=(Prepared&&) noexcept;
  ~Prepared();
  std::unique_ptr<Exchange> exchange;  ///< sealed
  std::unique_ptr<native::EventWatch> watch;
  std::unique_ptr<native::LogFollow> follow;
  std::unique_ptr<native::BulkFollow> progress;
  Answer answer;                         ///< where the others are null
  const native::Route* route = nullptr;  ///< null: there is none
};

/// Thread-safe as far as http::Handler asks: each loop's requests on that loop's thread. It must
/// outlive the server, and the service must outlive it.
class Native final : public http::Handler {
 public:
  using Options = NativeOptions;
  explicit Native(call::Service& service, Options options = {});
  ~Native() override;

  void handle(const http::Request& request, http::Responder responder) override;
  [[nodiscard]] http::RequestBounds bounds(http::Method method,
                                           std::string_view path) const override;

  /// The first half of handle(). The exchange will come back to `inbox`.
  [[nodiscard]] Prepared prepare(const http::Request& request, call::Inbox& inbox,
                                 const http::Loop* loop = nullptr);

 private:
  struct Asked;
  void read(const Asked& asked, Prepared& prepared);
  [[nodiscard]] call::KeyView& key_view(const http::Loop* loop);
  LoopInbox& inbox_of(http::Loop& loop);
  native::EventHub& hub_of(http::Loop& loop);

  call::Service& service_;
  Options options_;
  call::Gate gate_;
  http::Router router_;  ///< of native::routes()
  /// By loop; each is made and used on its loop's thread alone.
  std::array<std::unique_ptr<LoopInbox>, http::kMaxThreads> inboxes_;
  std::array<std::unique_ptr<native::EventHub>, http::kMaxThreads> hubs_;
  std::array<call::KeyView, http::kMaxThreads> key_views_;
};

}  // namespace jobbie::face
