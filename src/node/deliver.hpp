// Giving calls back: one at a time, or a round's worth with one hand-over for each inbox.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "call/call.hpp"

namespace jobbie::node {

inline void deliver(std::unique_ptr<call::Call> call) {
  call::Inbox& inbox = call->inbox();
  std::vector<std::unique_ptr<call::Call>> calls;
  calls.push_back(std::move(call));
  inbox.deliver(std::move(calls));
}

/// Where calls go that nobody waits for.
class Silence final : public call::Inbox {
 public:
  void deliver(std::vector<std::unique_ptr<call::Call>> /*calls*/) override {}
};

/// Collects finished calls by inbox. There are as many inboxes as io threads: a list will do.
class Outbox {
 public:
  void add(std::unique_ptr<call::Call> call) {
    for (auto& [inbox, calls] : parcels_) {
      if (inbox != &call->inbox()) continue;
      calls.push_back(std::move(call));
      return;
    }
    auto& parcel = parcels_.emplace_back(&call->inbox(), Parcel{});
    parcel.second.push_back(std::move(call));
  }

  void send() {
    for (auto& [inbox, calls] : parcels_)
      if (!calls.empty()) inbox->deliver(std::exchange(calls, {}));
  }

 private:
  using Parcel = std::vector<std::unique_ptr<call::Call>>;
  std::vector<std::pair<call::Inbox*, Parcel>> parcels_;
};

}  // namespace jobbie::node
