// The endpoints of the native face: each reads one kind of request. Private to the folder.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string_view>
#include <variant>

#include "base/json_writer.hpp"
#include "call/call.hpp"
#include "face/answer.hpp"
#include "face/exchange.hpp"
#include "face/native/native.hpp"
#include "face/native/watch.hpp"
#include "face/problem.hpp"
#include "http/message.hpp"
#include "model/records.hpp"
#include "search/filter.hpp"

namespace jobbie::face::native {

/// What an endpoint is given.
struct Input {
  const http::Request& request;
  std::string_view id;  ///< the path's variable part, decoded
  const NativeOptions& options;
  call::Inbox& inbox;
  const http::Loop* loop;  ///< null: there is no server
  const call::Principal& principal;
  std::string_view second;  ///< the path's second variable part
  const call::Service& service;
};

/// What a request comes to: a call for the node, or a stream. What needs neither is a ReadyAnswer.
/// Nothing of it has been judged yet.
using Wanted = std::variant<std::unique_ptr<Exchange>, std::unique_ptr<EventWatch>,
                            std::unique_ptr<LogFollow>, std::unique_ptr<BulkFollow>>;
using Outcome = std::expected<Wanted, Problem>;

/// A request that is answered without the node.
class ReadyAnswer final : public Exchange {
 public:
  explicit ReadyAnswer(call::Inbox& inbox) : Exchange(inbox) {}
  Answer ready;  ///< without a file

 private:
  void render(Answer& out) const override;
};

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
[[nodiscard]] Outcome cluster_transfer(const Input& input);
[[nodiscard]] Outcome cluster_add(const Input& input);
[[nodiscard]] Outcome cluster_remove(const Input& input);
[[nodiscard]] Outcome cluster_snapshot(const Input& input);
[[nodiscard]] Outcome stats(const Input& input);
[[nodiscard]] Outcome metrics(const Input& input);
[[nodiscard]] Outcome errors(const Input& input);
[[nodiscard]] Outcome error_group(const Input& input);
[[nodiscard]] Outcome append_logs(const Input& input);
[[nodiscard]] Outcome job_logs(const Input& input);
[[nodiscard]] Outcome events(const Input& input);

// Management.
[[nodiscard]] Outcome queues(const Input& input);
[[nodiscard]] Outcome queue(const Input& input);
[[nodiscard]] Outcome queue_pause(const Input& input);
[[nodiscard]] Outcome queue_resume(const Input& input);
[[nodiscard]] Outcome queue_clear(const Input& input);
[[nodiscard]] Outcome queue_drain(const Input& input);
[[nodiscard]] Outcome queue_delete(const Input& input);
[[nodiscard]] Outcome queue_concurrency(const Input& input);
[[nodiscard]] Outcome queue_concurrency_delete(const Input& input);
[[nodiscard]] Outcome queue_throttle(const Input& input);
[[nodiscard]] Outcome queue_throttle_delete(const Input& input);
[[nodiscard]] Outcome queue_retention(const Input& input);
[[nodiscard]] Outcome queue_lease(const Input& input);
[[nodiscard]] Outcome queue_fairness(const Input& input);
[[nodiscard]] Outcome groups(const Input& input);
[[nodiscard]] Outcome group_pause(const Input& input);
[[nodiscard]] Outcome group_resume(const Input& input);
[[nodiscard]] Outcome group_retry_failed(const Input& input);
[[nodiscard]] Outcome group_cancel(const Input& input);
[[nodiscard]] Outcome job_retry(const Input& input);
[[nodiscard]] Outcome job_cancel(const Input& input);
[[nodiscard]] Outcome job_move(const Input& input);
[[nodiscard]] Outcome job_requeue(const Input& input);
[[nodiscard]] Outcome job_priority(const Input& input);
[[nodiscard]] Outcome job_delete(const Input& input);
[[nodiscard]] Outcome job_why(const Input& input);
[[nodiscard]] Outcome schedules(const Input& input);
[[nodiscard]] Outcome schedule(const Input& input);
[[nodiscard]] Outcome schedule_create(const Input& input);
[[nodiscard]] Outcome schedule_update(const Input& input);
[[nodiscard]] Outcome schedule_patch(const Input& input);
[[nodiscard]] Outcome schedule_delete(const Input& input);
[[nodiscard]] Outcome schedule_pause(const Input& input);
[[nodiscard]] Outcome schedule_resume(const Input& input);
[[nodiscard]] Outcome schedule_run(const Input& input);
[[nodiscard]] Outcome schedule_preview(const Input& input);
[[nodiscard]] Outcome preview(const Input& input);
[[nodiscard]] Outcome workers(const Input& input);
[[nodiscard]] Outcome worker(const Input& input);
[[nodiscard]] Outcome worker_register(const Input& input);
[[nodiscard]] Outcome worker_remove(const Input& input);
[[nodiscard]] Outcome search_jobs(const Input& input);
[[nodiscard]] Outcome list_jobs(const Input& input);
[[nodiscard]] Outcome list_dead(const Input& input);
[[nodiscard]] Outcome list_batches(const Input& input);
[[nodiscard]] Outcome bulk(const Input& input);
[[nodiscard]] Outcome bulk_operation(const Input& input);
[[nodiscard]] Outcome bulk_progress(const Input& input);
[[nodiscard]] Outcome bulk_operations(const Input& input);
[[nodiscard]] Outcome cancel_bulk(const Input& input);

/// How a job and a batch are written wherever they occur.
void write_job_record(base::json::Writer& json, const model::JobRecord& job);
void write_batch_record(base::json::Writer& json, const model::BatchRecord& batch);
/// What a filter that could not be read is on the wire; `prefix` goes before the field's name, and
/// the filter begins at the byte `begin` of the body.
[[nodiscard]] Problem filter_problem(const search::Fault& fault, std::string_view prefix = {},
                                     std::size_t begin = 0);

// Keys and the audit log.
[[nodiscard]] Outcome keys(const Input& input);
[[nodiscard]] Outcome key_create(const Input& input);
[[nodiscard]] Outcome key_revoke(const Input& input);
[[nodiscard]] Outcome whoami(const Input& input);
[[nodiscard]] Outcome audit(const Input& input);
[[nodiscard]] Outcome backup(const Input& input);

// Webhooks.
[[nodiscard]] Outcome webhooks(const Input& input);
[[nodiscard]] Outcome webhook(const Input& input);
[[nodiscard]] Outcome webhook_create(const Input& input);
[[nodiscard]] Outcome webhook_update(const Input& input);
[[nodiscard]] Outcome webhook_delete(const Input& input);
[[nodiscard]] Outcome webhook_test(const Input& input);
[[nodiscard]] Outcome deliveries(const Input& input);
[[nodiscard]] Outcome delivery_retry(const Input& input);

// The node itself.
[[nodiscard]] Outcome healthz(const Input& input);
[[nodiscard]] Outcome readyz(const Input& input);
[[nodiscard]] Outcome root(const Input& input);
[[nodiscard]] Outcome openapi(const Input& input);

}  // namespace jobbie::face::native
