// The endpoints of the native face: each reads one kind of request. Private to the folder.
#pragma once

#include <expected>
#include <memory>
#include <string_view>

#include "call/call.hpp"
#include "face/answer.hpp"
#include "face/exchange.hpp"
#include "face/native/native.hpp"
#include "face/problem.hpp"
#include "http/message.hpp"

namespace jobbie::face::native {

/// What an endpoint is given.
struct Input {
  const http::Request& request;
  std::string_view id;  ///< the path's variable part, decoded
  const NativeOptions& options;
  call::Inbox& inbox;
};

using Outcome = std::expected<std::unique_ptr<Exchange>, Problem>;

[[nodiscard]] Outcome enqueue(const Input& input);
[[nodiscard]] Outcome enqueue_batch(const Input& input);
[[nodiscard]] Outcome fetch(const Input& input);
[[nodiscard]] Outcome ack(const Input& input);
[[nodiscard]] Outcome ack_many(const Input& input);
[[nodiscard]] Outcome fail(const Input& input);
[[nodiscard]] Outcome fail_many(const Input& input);
[[nodiscard]] Outcome heartbeat(const Input& input);
[[nodiscard]] Outcome job(const Input& input);
[[nodiscard]] Outcome batch(const Input& input);
[[nodiscard]] Outcome cluster_status(const Input& input);

void healthz(Answer& out);
void readyz(bool ready, Answer& out);
void root(Answer& out);

}  // namespace jobbie::face::native
