// GET and POST /api/v1/workers, GET and DELETE /api/v1/workers/{id}.
#include "face/native/manage.hpp"
#include "model/limits.hpp"

namespace jobbie::face::native {
namespace {

using base::json::Writer;

void write_worker(Writer& json, const model::WorkerRecord& worker, base::Instant now,
                  const call::Principal& principal) {
  const auto& spec = worker.spec;
  const auto stated = [&json](std::string_view name, std::uint32_t value) {
    json.member(name);
    if (value != 0)
      json.number(value);
    else
      json.null();
  };
  json.begin_object();
  json.member("id").string(spec.id.view());
  write_text(json, "hostname", spec.hostname);
  write_text(json, "name", spec.name);
  auto queues = spec.queues;
  call::hide_foreign_queues(principal, queues);
  write_texts(json, "queues", queues);
  write_texts(json, "roles", spec.roles);
  write_texts(json, "tags", spec.tags);
  stated("concurrency", spec.concurrency);
  stated("cores", spec.cores);
  stated("ram_mb", spec.ram_mb);
  json.member("draining").boolean(spec.draining);
  // How many of its jobs are in which queue is not known.
  json.member("active");
  if (call::may_see_all(principal, spec.queues))
    json.number(worker.active);
  else
    json.null();
  json.member("started_at").instant(worker.started_at);
  json.member("last_heartbeat").instant(worker.last_seen);
  json.member("silent").boolean(worker.last_seen + model::limits::kWorkerSilence <= now);
  json.end_object();
}

constexpr Shape<model::WorkerRecord> kWorkerShape{
    .list = "workers",
    .what = "worker",
    .write = [](Writer& json, const model::WorkerRecord& worker,
                base::Instant now) { write_worker(json, worker, now, {}); },
    .name = [](const model::WorkerRecord& worker) { return std::string(worker.spec.id.view()); },
    .write_part =
        [](Writer& json, const model::WorkerRecord& worker, base::Instant now,
           const call::Principal& principal) { write_worker(json, worker, now, principal); }};

constexpr Fields kWorkerFields(
    std::to_array<std::string_view>({"worker_id", "hostname", "name", "queues", "roles", "tags",
                                     "concurrency", "cores", "ram_mb", "draining"}));

bool read_worker_field(Body& body, std::size_t field, model::WorkerSpec& worker) {
  switch (field) {
    case 0:
      return body.text(worker.id);
    case 1:
      return body.text(worker.hostname);
    case 2:
      return body.text(worker.name);
    case 3:
      return body.texts(worker.queues, model::limits::kQueuesPerClaim);
    case 4:
      return body.texts(worker.roles, model::limits::kCapabilities);
    case 5:
      return body.texts(worker.tags, model::limits::kCapabilities);
    case 6:
      return body.integer(worker.concurrency);
    case 7:
      return body.integer(worker.cores);
    case 8:
      return body.integer(worker.ram_mb);
    default:
      return body.boolean(worker.draining);
  }
}

}  // namespace

Outcome workers(const Input& input) {
  auto page = read_page(input, kWorkerShape.list);
  if (!page) return std::unexpected(page.error());
  auto exchange = std::make_unique<ListExchange<model::WorkerRecord>>(input.inbox, kWorkerShape);
  exchange->query = call::WorkersQuery{.page = *std::move(page), .only = {}};
  return exchange;
}

Outcome worker(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  auto exchange =
      std::make_unique<OneExchange<model::WorkerRecord>>(input.inbox, kWorkerShape, input.id);
  exchange->query = call::WorkersQuery{.page = {}, .only = std::string(input.id)};
  return exchange;
}

Outcome worker_register(const Input& input) {
  if (auto problem = refuse_parameters(input.request.query))
    return std::unexpected(*std::move(problem));
  command::RegisterWorker command;
  Body body(input.request.body);
  const bool read = body.object(
      kWorkerFields, [&](std::size_t i) { return read_worker_field(body, i, command.worker); });
  if (!read || !body.finish() || (command.worker.id.empty() && !body.refuse_missing("worker_id")))
    return std::unexpected(body.problem());
  const base::Blob id = command.worker.id;
  return act(input, std::move(command),
             {.subject = "worker_id", .name = id.view(), .status = "registered"});
}

Outcome worker_remove(const Input& input) {
  if (auto problem = refuse_details(input)) return std::unexpected(*std::move(problem));
  return act(input, command::RemoveWorker{base::Blob(input.id)},
             {.subject = "worker_id", .name = input.id, .status = "removed"});
}

}  // namespace jobbie::face::native
