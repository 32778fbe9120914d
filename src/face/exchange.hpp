// One request of a client that goes through the node: the call, and how its outcome is told.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "call/call.hpp"
#include "call/gate.hpp"
#include "face/answer.hpp"
#include "face/problem.hpp"
#include "http/server.hpp"

namespace jobbie::face {

/// Made on the thread of its connection, finished there. In between the node owns it and touches
/// only what call::Call has.
class Exchange : public call::Call {
 public:
  using Call::Call;

  /// The commands are complete: from here on they are the node's.
  void seal() { expected_replies_ = commands.size(); }
  /// Where the answer goes. Without one (tests) finish() answers nobody.
  void answer_through(http::Responder responder) { responder_ = std::move(responder); }
  /// Asks the server to tell the node when the client of a waiting fetch or a long question goes.
  void watch_hang_up();

  void finish() final;
  /// What finish() sends.
  void write_answer(Answer& out) const;

 protected:
  /// The answer to a call that came back without trouble.
  virtual void render(Answer& out) const = 0;

  /// Whether the caller's key is for `queue`. What is asked for by its id and is in another queue
  /// is answered like what does not exist.
  [[nodiscard]] bool may_show(const base::Blob& queue) const {
    return call::may_see(principal, queue.view());
  }

  /// The reply as a T; otherwise the refusal is written to `out`, and null comes back.
  template <typename T>
  static const T* reply_as(const command::Reply& reply, Answer& out) {
    if (const auto* wanted = std::get_if<T>(&reply)) return wanted;
    write_refusal(reply, out);
    return nullptr;
  }

 private:
  static void write_refusal(const command::Reply& reply, Answer& out);

  http::Responder responder_;
  std::size_t expected_replies_ = 0;
};

/// Sends an answer; `responder` is used up.
void send(http::Responder& responder, Answer&& answer);

}  // namespace jobbie::face
