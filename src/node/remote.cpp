// The leader's side of forwarded calls.
#include "node/remote.hpp"

namespace jobbie::node {

void RemoteInbox::deliver(std::vector<std::unique_ptr<call::Call>> calls) {
  const auto index = index_.load(std::memory_order_relaxed);
  for (const auto& call : calls) {
    const auto& remote = static_cast<const RemoteCall&>(*call);
    transport_.send(remote.from(), cluster::wire(cluster::Kind::reply),
                    cluster::encode_reply(remote.number(), index, remote));
  }
}

void RemoteWaiters::cancel(std::uint64_t from, std::uint64_t number) {
  const auto found = waiting_.find({from, number});
  if (found == waiting_.end()) return;
  if (const auto hung_up = found->second.lock()) hung_up->store(true, std::memory_order_relaxed);
  waiting_.erase(found);
}

void RemoteWaiters::cancel_all(std::uint64_t from) {
  const auto begin = waiting_.lower_bound({from, 0});
  auto end = begin;
  for (; end != waiting_.end() && end->first.first == from; ++end)
    if (const auto hung_up = end->second.lock()) hung_up->store(true, std::memory_order_relaxed);
  waiting_.erase(begin, end);
}

void RemoteWaiters::tidy() {
  std::erase_if(waiting_, [](const auto& one) { return one.second.expired(); });
}

}  // namespace jobbie::node
