// The endpoints of the native face: each reads one kind of request. Private to the folder.
#pragma once

#include <expected>
#include <memory>
#include <string_view>

#include "base/json_writer.hpp"
#include "call/call.hpp"
#include "face/answer.hpp"
#include "face/exchange.hpp"
#include "face/native/native.hpp"
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
[[nodiscard]] Outcome search_jobs(const Input& input);
[[nodiscard]] Outcome list_jobs(const Input& input);
[[nodiscard]] Outcome list_dead(const Input& input);
[[nodiscard]] Outcome list_batches(const Input& input);
[[nodiscard]] Outcome bulk(const Input& input);
[[nodiscard]] Outcome bulk_operation(const Input& input);
[[nodiscard]] Outcome bulk_operations(const Input& input);
[[nodiscard]] Outcome cancel_bulk(const Input& input);

/// How a job and a batch are written wherever they occur.
void write_job_record(base::json::Writer& json, const model::JobRecord& job);
void write_batch_record(base::json::Writer& json, const model::BatchRecord& batch);
/// What a filter that could not be read is on the wire; `prefix` goes before the field's name.
[[nodiscard]] Problem filter_problem(const search::Fault& fault, std::string_view prefix = {});
/// The parameters of a query string, or the problem with it.
[[nodiscard]] std::expected<search::Parameters, Problem> parameters_of(
    const http::Request& request);

void healthz(Answer& out);
void readyz(bool ready, Answer& out);
void root(Answer& out);

}  // namespace jobbie::face::native
