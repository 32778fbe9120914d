// Questions wait until the state is new enough: for what was written through this node, or, where
// it is asked for, for everything that was acknowledged anywhere.
#include <utility>
#include <variant>

#include "node/driver.hpp"

namespace jobbie::node {
namespace {

constexpr std::int64_t kReadUs = 5'000'000;
/// A question to the leader may be lost.
constexpr std::int64_t kAskAgainUs = 500'000;

}  // namespace

void Driver::take_question(std::unique_ptr<call::Call> call) {
  // How a node stands is asked above all where it does not get on.
  const bool about_nodes = std::holds_alternative<call::StatusQuery>(call->query) ||
                           std::holds_alternative<call::ClusterChange>(call->query);
  const bool fresh = seen_index_ <= applied_index_ || about_nodes;
  if (transport_ == nullptr || (!call->strong && fresh)) return answer_question(std::move(call));
  // Here the state gets no newer.
  if (log_->removed()) return give_back(std::move(call), call::Trouble::no_leader);
  Deferred deferred{
      .call = std::move(call), .index = seen_index_, .since_us = now_us_, .asked_us = now_us_};
  if (deferred.call->strong) {
    deferred.context = next_context_++;
    log_->read_index(deferred.context);
  }
  deferred_.push_back(std::move(deferred));
}

void Driver::note_read(std::uint64_t context, std::uint64_t index) {
  for (auto& deferred : deferred_) {
    if (deferred.context != context) continue;
    deferred.context = 0;
    deferred.index = index;
  }
}

void Driver::answer_deferred() {
  for (auto& deferred : std::exchange(deferred_, {})) {
    if (deferred.call->has_hung_up()) {
      give_back(std::move(deferred.call), call::Trouble::cancelled);
    } else if (deferred.context == 0 && deferred.index <= applied_index_) {
      answer_question(std::move(deferred.call));
    } else if (deferred.since_us + kReadUs < now_us_) {
      give_back(std::move(deferred.call),
                deferred.context != 0 ? call::Trouble::no_leader : call::Trouble::behind);
    } else {
      if (deferred.context != 0 && deferred.asked_us + kAskAgainUs < now_us_) {
        deferred.asked_us = now_us_;
        log_->read_index(deferred.context);
      }
      deferred_.push_back(std::move(deferred));
    }
  }
}

}  // namespace jobbie::node
