// Changes into rows: one prepared statement for each kind of change.
//
// Lives on the writer's thread and works inside a transaction that the caller opens and ends. All
// functions answer false when the database refused; the connection then knows why and the caller
// rolls back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "command/item.hpp"
#include "store/access_rows.hpp"
#include "store/job_feed.hpp"
#include "store/sqlite.hpp"
#include "store/webhook_rows.hpp"

namespace jobbie::store {

class ChangeWriter {
 public:
  /// `connection` must outlive the writer.
  static base::Result<ChangeWriter> make(Connection& connection);

  /// `revision` numbers the hand-over that the change came with. The change must stay until it is
  /// flushed or the transaction rolled back.
  [[nodiscard]] bool apply(const command::Change& change, std::uint64_t revision);
  /// Some rows wait for others that are written with them: those too are written now.
  [[nodiscard]] bool flush();
  /// Ends what is written in a transaction, and flushes it.
  [[nodiscard]] bool set_applied(std::uint64_t index, std::uint64_t writes);

  /// Removes a job, its errors and its log.
  [[nodiscard]] bool remove_job(std::uint64_t seq);

  /// Must follow a rollback: what the writer believes about the file is read again.
  [[nodiscard]] bool after_rollback();

 private:
  static constexpr std::size_t kStatements = 37;

  explicit ChangeWriter(Connection& connection) : connection_(&connection) {}
  [[nodiscard]] bool put(const command::Item& item, std::uint64_t revision);
  [[nodiscard]] bool put(const model::MetaRecord& meta);
  [[nodiscard]] bool put(const model::QueueRecord& queue);
  [[nodiscard]] bool put(const model::TallyRecord& tally);
  [[nodiscard]] bool put(const model::WindowRecord& window);
  [[nodiscard]] bool put(const model::GroupRecord& group);
  [[nodiscard]] bool put(const model::BatchRecord& batch);
  [[nodiscard]] bool put(const model::ScheduleRecord& schedule);
  [[nodiscard]] bool put(const model::WorkerRecord& worker);
  [[nodiscard]] bool put(const model::IdempotencyRecord& record);
  [[nodiscard]] bool put(const model::TaskRecord& task);
  [[nodiscard]] bool put(const model::BulkRecord& bulk);
  [[nodiscard]] bool put(const model::KeyRecord& key) { return access_.put(key); }
  [[nodiscard]] bool put(const model::WebhookRecord& webhook) { return webhooks_.put(webhook); }
  [[nodiscard]] bool put(const model::DeliveryRecord& delivery) { return webhooks_.put(delivery); }

  [[nodiscard]] bool put_plain(const model::PlainJob& job, std::uint64_t revision);
  [[nodiscard]] bool put_job(const model::JobRecord& job, std::uint64_t revision);
  [[nodiscard]] bool insert_job(const model::JobRecord& job, std::uint64_t revision);
  [[nodiscard]] bool put_errors(const model::JobRecord& job, std::int64_t kept_before);

  [[nodiscard]] bool remove(const command::RemovedJob& removed);
  [[nodiscard]] bool remove(const command::RemovedQueue& removed);
  [[nodiscard]] bool remove(const command::RemovedSchedule& removed);
  [[nodiscard]] bool remove(const command::RemovedWorker& removed);
  [[nodiscard]] bool remove(const command::RemovedIdempotency& removed);
  [[nodiscard]] bool remove(const command::RemovedTask& removed);
  [[nodiscard]] bool remove(const command::RemovedBulk& removed);
  [[nodiscard]] bool remove(const command::RemovedKey& removed) { return access_.remove(removed); }
  [[nodiscard]] bool remove(const command::RemovedWebhook& removed) {
    return webhooks_.remove(removed);
  }
  [[nodiscard]] bool sweep(const command::SweptJobs& swept, std::uint64_t revision);
  [[nodiscard]] bool append(const command::LoggedLines& logged);

  Connection* connection_;
  std::array<Statement, kStatements> statements_;
  /// Written before any other statement looks at jobs or changes them.
  JobFeed feed_;
  AccessWriter access_;
  WebhookWriter webhooks_;
  std::int64_t max_seq_ = 0;  ///< no job beyond it is in the file: those are inserted unasked
  model::JobRecord plain_;    ///< the latest plain job; what plain jobs do not have is never set
  std::string scratch_;       ///< bytes bound to a statement until it has run
};

}  // namespace jobbie::store
