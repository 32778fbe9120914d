// The outbox of webhooks as the node sees it: what is due, when to look, and deliveries that are to
// be sent once more.
#include <chrono>
#include <utility>

#include "node/driver.hpp"
#include "node/readers.hpp"

namespace jobbie::node {
namespace {

/// How long somebody who wants a delivery sent once more may keep the node waiting for the store.
constexpr std::chrono::milliseconds kRetryPatience{500};

}  // namespace

/// The bell is rung once for a round, and only if the outbox has changed: without webhooks never.
void Driver::ring_outbox() {
  if (engine_->outbox_revision() == outbox_revision_) return;
  outbox_revision_ = engine_->outbox_revision();
  shared_.outbox_bell.ring();
}

/// Whether it was a question about the outbox or its past; then it has been dealt with.
bool Driver::answer_outbox(call::Call& call) {
  if (const auto* query = std::get_if<call::DeliveriesQuery>(&call.query)) {
    if (engine_->webhook(query->webhook)) return false;  // the database has them
    call::DeliveryPage page;
    page.found = false;
    call.answer = std::move(page);
    return true;
  }
  const auto* query = std::get_if<call::OutboxQuery>(&call.query);
  if (query == nullptr) return false;
  const auto now = log_clock_->now();
  auto outbox = serving_ ? engine_->due_deliveries(now, query->each) : model::Outbox{};
  outbox.now = now;
  call.answer = std::move(outbox);
  return true;
}

/// A delivery that has ended is known to the store alone: the command has to carry it. False: the
/// store could not be read. This waits for the disk, but only people ask for it, and rarely.
bool Driver::complete_retry(call::Call& call) {
  for (auto& command : call.commands) {
    auto* retry = std::get_if<command::RetryDelivery>(&command);
    if (retry == nullptr || engine_->is_in_outbox(retry->delivery.id)) continue;
    hand_over();
    if (!store_->wait_until_written(handed_index_, kRetryPatience)) return false;
    auto found = store_->delivery(retry->delivery.id);
    if (!found) return false;
    if (*found && (*found)->webhook == retry->delivery.webhook)
      retry->delivery = **std::move(found);
  }
  return true;
}

void Readers::answer_deliveries(const call::DeliveriesQuery& query, call::Call& call) {
  auto rows = store_.deliveries({.webhook = query.webhook,
                                 .before = query.before,
                                 .limit = std::size_t{query.limit} + 1,
                                 .state = query.state},
                                is_given_up(call));
  if (!rows) {
    call.trouble = trouble_of(rows.error(), call);
    return;
  }
  call::DeliveryPage page;
  page.more = rows->size() > query.limit;
  if (page.more) rows->pop_back();
  page.rows = *std::move(rows);
  call.answer = std::move(page);
}

}  // namespace jobbie::node
