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
#include <vector>

#include "base/time.hpp"
#include "call/call.hpp"
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
struct Access;
struct EventWatch;
struct Input;
struct LogFollow;
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
  Answer answer;  ///< where the others are null
};

/// A method and a pattern of paths, as http::Router takes them.
struct RouteName {
  http::Method method = http::Method::get;
  std::string_view pattern;
};
/// All that the face answers, for those who must know every route.
[[nodiscard]] std::vector<RouteName> native_routes();

/// Thread-safe as far as http::Handler asks: each loop's requests on that loop's thread. It must
/// outlive the server, and the service must outlive it.
class Native final : public http::Handler {
 public:
  using Options = NativeOptions;
  explicit Native(call::Service& service, Options options = {});
  ~Native() override;

  void handle(const http::Request& request, http::Responder responder) override;
  [[nodiscard]] std::optional<std::size_t> body_limit(http::Method method,
                                                      std::string_view path) const override;
  [[nodiscard]] http::AnswerBound answer_bound(http::Method method,
                                               std::string_view path) const override;

  /// The first half of handle(). The exchange will come back to `inbox`.
  [[nodiscard]] Prepared prepare(const http::Request& request, call::Inbox& inbox,
                                 const http::Loop* loop = nullptr);

 private:
  std::optional<Problem> admit(const http::Request& request, std::size_t route,
                               const http::Loop* loop, call::GrantPtr& grant);
  void answer_here(const http::Request& request, std::size_t route, const call::GrantPtr& grant,
                   Prepared& prepared) const;
  void ask_endpoint(const native::Input& input, std::size_t route, Prepared& prepared) const;
  LoopInbox& inbox_of(http::Loop& loop);
  native::EventHub& hub_of(http::Loop& loop);

  call::Service& service_;
  Options options_;
  http::Router router_;
  std::vector<native::Access> access_;  ///< by route
  /// By loop; each is made and used on its loop's thread alone.
  std::array<std::unique_ptr<LoopInbox>, http::kMaxThreads> inboxes_;
  std::array<std::unique_ptr<native::EventHub>, http::kMaxThreads> hubs_;
  std::array<call::KeyView, http::kMaxThreads> key_views_;
};

}  // namespace jobbie::face
