// The native HTTP face: `/api/v1`, `/healthz`, `/readyz`. docs/api.md is its reference.
//
// It turns requests into commands and replies into answers, and holds no job logic. `prepare()`
// does the first half without any connection, an Exchange the second, so that tests need no socket.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "base/time.hpp"
#include "call/call.hpp"
#include "face/answer.hpp"
#include "face/exchange.hpp"
#include "face/inbox.hpp"
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
};

/// A request that was read: either a call for the node, or an answer that needs none.
struct Prepared {
  std::unique_ptr<Exchange> exchange;  ///< sealed; null: `answer` is it
  Answer answer;
};

/// Thread-safe as far as http::Handler asks: each loop's requests on that loop's thread. It must
/// outlive the server, and the service must outlive it.
class Native final : public http::Handler {
 public:
  using Options = NativeOptions;
  explicit Native(call::Service& service, Options options = {});

  void handle(const http::Request& request, http::Responder responder) override;
  [[nodiscard]] std::optional<std::size_t> body_limit(http::Method method,
                                                      std::string_view path) const override;

  /// The first half of handle(). The exchange will come back to `inbox`.
  [[nodiscard]] Prepared prepare(const http::Request& request, call::Inbox& inbox) const;

 private:
  LoopInbox& inbox_of(http::Loop& loop);

  call::Service& service_;
  Options options_;
  http::Router router_;
  /// By loop; each is made and used on its loop's thread alone.
  std::array<std::unique_ptr<LoopInbox>, http::kMaxThreads> inboxes_;
};

}  // namespace jobbie::face
