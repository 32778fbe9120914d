// The leader's side of forwarded calls.
#include "node/remote.hpp"

namespace jobbie::node {
namespace {

/// Nobody waits longer for a reply.
constexpr std::int64_t kKeptUs = 20'000'000;

}  // namespace

void RemoteInbox::deliver(std::vector<std::unique_ptr<call::Call>> calls) {
  const auto index = index_.load(std::memory_order_relaxed);
  for (const auto& call : calls) {
    const auto& remote = static_cast<const RemoteCall&>(*call);
    send(remote.from(), cluster::encode_reply(remote.number(), index, remote));
  }
}

bool RemoteInbox::pass(std::uint64_t node, const std::string& bytes) {
  return transport_.send(node, cluster::wire(cluster::Kind::reply), bytes);
}

void RemoteInbox::send(std::uint64_t node, std::string bytes) {
  const std::lock_guard lock(mutex_);
  if (!kept_.contains(node) && pass(node, bytes)) return;
  // Beyond this they are lost, and who waits for them will say that the outcome is not known.
  if (kept_bytes_ + bytes.size() > kMaxKeptBytes) return;
  kept_bytes_ += bytes.size();
  kept_[node].replies.push_back(std::move(bytes));
}

void RemoteInbox::send_kept(std::int64_t now_us) {
  const std::lock_guard lock(mutex_);
  for (auto& [node, kept] : kept_) {
    if (kept.since_us == 0) kept.since_us = now_us;
    const bool forgotten = now_us - kept.since_us > kKeptUs;
    while (!kept.replies.empty() && (forgotten || pass(node, kept.replies.front()))) {
      kept_bytes_ -= kept.replies.front().size();
      kept.replies.pop_front();
    }
  }
  std::erase_if(kept_, [](const auto& one) { return one.second.replies.empty(); });
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
