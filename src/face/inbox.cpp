// The calls travel inside the posted task, so that those which come after the server's stop end
// with it, while their responders still may.
#include "face/inbox.hpp"

#include <utility>

namespace jobbie::face {

void LoopInbox::deliver(std::vector<std::unique_ptr<call::Call>> calls) {
  loop_.post([calls = std::move(calls)] {
    for (const auto& call : calls) call->finish();
  });
}

void LoopInbox::flush_soon(call::Service& service) {
  if (std::exchange(flush_is_due_, true)) return;
  loop_.post([this, &service] {
    flush_is_due_ = false;
    service.flush();
  });
}

}  // namespace jobbie::face
