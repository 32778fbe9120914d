// Where the node's finished calls of one io thread arrive.
#pragma once

#include <memory>
#include <vector>

#include "call/call.hpp"
#include "http/server.hpp"

namespace jobbie::face {

/// The loop must outlive it, except that nothing may be delivered after the server is gone.
class LoopInbox final : public call::Inbox {
 public:
  explicit LoopInbox(http::Loop& loop) : loop_(loop) {}
  void deliver(std::vector<std::unique_ptr<call::Call>> calls) override;
  /// On the loop's thread: flushes `service` once the loop has read what it found readable, however
  /// often this is asked meanwhile.
  void flush_soon(call::Service& service);
  [[nodiscard]] const http::Loop* loop() const { return &loop_; }

 private:
  http::Loop& loop_;
  bool flush_is_due_ = false;
};

}  // namespace jobbie::face
