// The fields of every model struct that is encoded, listed once for encoder and decoder alike.
//
// A field's place in its list is its bit in the struct's mask, so the order is part of the format:
// append only. A new field gets the next bit; bytes written before it existed still decode, with
// the field at its default. The encoder does not compile when a struct has a field that its list
// lacks. The defaults in the structs are part of the format too, since they are what is not
// written: changing one would change what old bytes mean (defaults_test.cpp pins them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "model/access.hpp"
#include "model/job.hpp"
#include "model/log_line.hpp"
#include "model/queue.hpp"
#include "model/records.hpp"
#include "model/webhook.hpp"
#include "model/zone_rules.hpp"

namespace jobbie::command {

/// Marks a 64-bit field that is random bits: eight fixed bytes, where a variable-length number
/// would take ten.
template <typename Struct>
struct FixedField {
  std::uint64_t Struct::*member;
};

/// `list` is a tuple of member pointers (or FixedFields). The primary template is for types that
/// are not structs of ours.
template <typename Struct>
struct Fields {};

template <typename Struct>
concept Listed = requires {
  Fields<Struct>::list;
};

template <Listed Struct>
inline constexpr std::size_t kListedFields = std::tuple_size_v<decltype(Fields<Struct>::list)>;

/// Calls `visitor(bit, pointer to member)` for each field in order. All of it is known to the
/// compiler.
template <Listed Struct, typename Visitor>
constexpr void for_each_field(Visitor&& visitor) {
  [&]<std::size_t... Bits>(std::index_sequence<Bits...>) {
    (visitor(Bits, std::get<Bits>(Fields<Struct>::list)), ...);
  }
  (std::make_index_sequence<kListedFields<Struct>>{});
}

/// Converts to anything: `T{AnyField{}, AnyField{}}` compiles if T has at least two fields.
struct AnyField {
  template <typename T>
  operator T() const;  // implicit is the point
};

template <typename Struct, std::size_t Count>
constexpr bool has_fields() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return requires { Struct{(static_cast<void>(I), AnyField{})...}; };
  }
  (std::make_index_sequence<Count>{});
}

/// Whether the list of Struct names as many fields as Struct has.
template <Listed Struct>
constexpr bool list_is_complete() {
  constexpr auto kListed = kListedFields<Struct>;
  return has_fields<Struct, kListed>() && !has_fields<Struct, kListed + 1>();
}

// The largest value of each enum; anything above it is not decoded.
constexpr auto last_value(model::State) { return model::State::cancelled; }
constexpr auto last_value(model::Backoff) { return model::Backoff::exponential; }
constexpr auto last_value(model::UniqueUntil) { return model::UniqueUntil::period; }
constexpr auto last_value(model::OnFailure) { return model::OnFailure::run; }
constexpr auto last_value(model::LeaseEnd) { return model::LeaseEnd::lost; }
constexpr auto last_value(model::Fairness) { return model::Fairness::group; }
constexpr auto last_value(model::CatchUp) { return model::CatchUp::all; }
constexpr auto last_value(model::LogLevel) { return model::LogLevel::error; }
constexpr auto last_value(model::TaskKind) { return model::TaskKind::release_dependents; }
constexpr auto last_value(model::BulkAction) { return model::BulkAction::change_priority; }
constexpr auto last_value(model::BulkStatus) { return model::BulkStatus::failed; }
constexpr auto last_value(model::DeliveryState) { return model::DeliveryState::failed; }

template <>
struct Fields<model::RetryPolicy> {
  using S = model::RetryPolicy;
  static constexpr auto list = std::tuple(&S::backoff, &S::base, &S::max, &S::jitter);
};
template <>
struct Fields<model::UniqueSpec> {
  using S = model::UniqueSpec;
  static constexpr auto list = std::tuple(&S::key, &S::until, &S::period);
};
template <>
struct Fields<model::Requirements> {
  using S = model::Requirements;
  static constexpr auto list = std::tuple(&S::roles, &S::tags, &S::target_worker);
};
// The first seven share the mask's first byte: the fields that most jobs set.
template <>
struct Fields<model::JobSpec> {
  using S = model::JobSpec;
  static constexpr auto list = std::tuple(
      &S::queue, &S::payload, &S::priority, &S::max_retries, &S::tags, &S::unique, &S::traceparent,
      &S::scheduled_at, &S::retry, &S::expire_after, &S::lease, &S::max_runtime, &S::timeout,
      &S::group, &S::requires_, &S::depends_on, &S::depends_on_index, &S::on_failure, &S::delay);
};
template <>
struct Fields<model::JobError> {
  using S = model::JobError;
  static constexpr auto list = std::tuple(&S::ordinal, &S::attempt, &S::at, &S::error,
                                          &S::backtrace, &S::worker, &S::started_at, &S::retry_at);
};
template <>
struct Fields<model::JobRecord> {
  using S = model::JobRecord;
  static constexpr auto list = std::tuple(
      &S::id, &S::state, &S::spec, &S::attempt, &S::run_at, &S::started_at, &S::ended_at,
      &S::failed_at, &S::expire_at, &S::lease, &S::lease_end, &S::lease_duration,
      &S::lease_expires_at, &S::worker, &S::hostname, &S::heartbeaten, &S::cancel_requested,
      &S::holds_unique, &S::unique_until, &S::batch, &S::batch_counted, &S::schedule,
      &S::nominal_at, &S::waiting_on, &S::progress, &S::checkpoint, &S::result, &S::end_reason,
      &S::errors, &S::error_count, &S::arrival, &S::group_arrival);
};
template <>
struct Fields<model::LogLine> {
  using S = model::LogLine;
  static constexpr auto list = std::tuple(&S::at, &S::level, &S::message);
};

template <>
struct Fields<model::ConcurrencyLimit> {
  using S = model::ConcurrencyLimit;
  static constexpr auto list = std::tuple(&S::max, &S::per);
};
template <>
struct Fields<model::Throttle> {
  using S = model::Throttle;
  static constexpr auto list = std::tuple(&S::rate, &S::period, &S::per);
};
template <>
struct Fields<model::Retention> {
  using S = model::Retention;
  static constexpr auto list = std::tuple(&S::completed, &S::dead, &S::cancelled);
};
template <>
struct Fields<model::QueueSettings> {
  using S = model::QueueSettings;
  static constexpr auto list =
      std::tuple(&S::paused, &S::draining, &S::concurrency, &S::concurrency_per, &S::throttle,
                 &S::throttle_per, &S::retention, &S::lease, &S::fairness);
};
template <>
struct Fields<model::QueueTotals> {
  using S = model::QueueTotals;
  static constexpr auto list = std::tuple(&S::enqueued, &S::started, &S::completed, &S::failed,
                                          &S::dead, &S::cancelled, &S::leases_expired);
};
template <>
struct Fields<model::QueueRecord> {
  using S = model::QueueRecord;
  static constexpr auto list = std::tuple(&S::name, &S::created_at, &S::settings, &S::totals,
                                          &S::last_served_group, &S::owner);
};
template <>
struct Fields<model::TallyRecord> {
  using S = model::TallyRecord;
  static constexpr auto list = std::tuple(&S::queue, &S::state, &S::minute, &S::count);
};
template <>
struct Fields<model::WindowRecord> {
  using S = model::WindowRecord;
  static constexpr auto list = std::tuple(&S::queue, &S::keyed, &S::key, &S::claims);
};
template <>
struct Fields<model::GroupRecord> {
  using S = model::GroupRecord;
  static constexpr auto list = std::tuple(&S::name, &S::paused);
};

template <>
struct Fields<model::BatchRecord> {
  using S = model::BatchRecord;
  static constexpr auto list =
      std::tuple(&S::id, &S::total, &S::pending, &S::succeeded, &S::failed, &S::callback_queue,
                 &S::callback_payload, &S::callback_job, &S::finished_at);
};
template <>
struct Fields<model::ZoneTransition> {
  using S = model::ZoneTransition;
  static constexpr auto list = std::tuple(&S::at, &S::offset_s);
};
template <>
struct Fields<model::ZoneRules> {
  using S = model::ZoneRules;
  static constexpr auto list = std::tuple(&S::name, &S::base_offset_s, &S::transitions);
};
template <>
struct Fields<model::ScheduleSpec> {
  using S = model::ScheduleSpec;
  static constexpr auto list =
      std::tuple(&S::name, &S::cron, &S::zone, &S::catch_up, &S::paused, &S::job);
};
template <>
struct Fields<model::ScheduleRecord> {
  using S = model::ScheduleRecord;
  static constexpr auto list =
      std::tuple(&S::id, &S::spec, &S::last_run, &S::next_run, &S::last_job, &S::runs);
};
template <>
struct Fields<model::WorkerSpec> {
  using S = model::WorkerSpec;
  static constexpr auto list =
      std::tuple(&S::id, &S::hostname, &S::name, &S::queues, &S::roles, &S::tags, &S::concurrency,
                 &S::cores, &S::ram_mb, &S::draining);
};
template <>
struct Fields<model::WorkerRecord> {
  using S = model::WorkerRecord;
  static constexpr auto list =
      std::tuple(&S::spec, &S::started_at, &S::last_seen, &S::active, &S::owner);
};
template <>
struct Fields<model::IdempotencyRecord> {
  using S = model::IdempotencyRecord;
  static constexpr auto list =
      std::tuple(&S::key, FixedField<S>{&S::fingerprint}, &S::expires_at, &S::reply, &S::scope);
};
template <>
struct Fields<model::TaskRecord> {
  using S = model::TaskRecord;
  static constexpr auto list =
      std::tuple(&S::number, &S::kind, &S::subject, &S::bound, &S::cursor, &S::flag, &S::job);
};
template <>
struct Fields<model::KeySpec> {
  using S = model::KeySpec;
  static constexpr auto list =
      std::tuple(&S::name, &S::scopes, &S::queues, &S::digest, &S::last_four);
};
template <>
struct Fields<model::KeyRecord> {
  using S = model::KeyRecord;
  static constexpr auto list = std::tuple(&S::id, &S::spec);
};
template <>
struct Fields<model::WebhookSpec> {
  using S = model::WebhookSpec;
  static constexpr auto list = std::tuple(&S::url, &S::events, &S::queue, &S::secret, &S::active);
};
template <>
struct Fields<model::WebhookRecord> {
  using S = model::WebhookRecord;
  static constexpr auto list = std::tuple(&S::id, &S::spec, &S::delivered, &S::failed, &S::dropped);
};
template <>
struct Fields<model::DeliveryRecord> {
  using S = model::DeliveryRecord;
  static constexpr auto list = std::tuple(&S::id, &S::webhook, &S::event, &S::job, &S::queue,
                                          &S::at, &S::attempt, &S::detail, &S::state, &S::attempts,
                                          &S::next_attempt_at, &S::status, &S::error, &S::ended_at);
};
template <>
struct Fields<model::MetaRecord> {
  using S = model::MetaRecord;
  static constexpr auto list = std::tuple(
      &S::now, &S::next_sequence, &S::next_lease, &S::next_arrival, &S::next_task, &S::entries,
      &S::max_queues, &S::max_queues_per_key, &S::max_idempotency_keys_per_key);
};

template <>
struct Fields<model::BulkError> {
  using S = model::BulkError;
  static constexpr auto list = std::tuple(&S::job, &S::code, &S::message);
};
template <>
struct Fields<model::BulkRecord> {
  using S = model::BulkRecord;
  static constexpr auto list =
      std::tuple(&S::id, &S::action, &S::queue, &S::priority, &S::filter, &S::bound, &S::cursor,
                 &S::estimated, &S::affected, &S::skipped, &S::failed, &S::errors, &S::status,
                 &S::finished_at, &S::reason, &S::owner);
};

}  // namespace jobbie::command
