// Ids: a kind (`job_`, `batch_`, `sched_`, `bulk_`, `key_`,
// `hook_`, `dlv_`) and a ULID of 26 Crockford base32
// characters.
//
// The ULID's 48 time bits are the creation instant in milliseconds. Of its 80 free bits the upper
// 48 hold a number from a replicated counter and the lower 32 are random. So ids sort in exactly
// the order of creation, cannot collide inside one cluster, and hardly can between two; and the
// engine finds a job by the counter alone.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"

namespace jobbie::base {

/// Number of a job (batch, schedule) in order of creation. Zero is no number.
inline constexpr std::uint64_t kMaxSequence = (1ULL << 48) - 1;

struct Ulid {
  std::uint64_t high = 0;  ///< 48 bits of time, upper 16 bits of the sequence
  std::uint64_t low = 0;   ///< lower 32 bits of the sequence, 32 random bits

  static constexpr std::size_t kTextLength = 26;

  static constexpr Ulid make(Instant at, std::uint64_t sequence, std::uint32_t random) {
    const auto time = static_cast<std::uint64_t>(at.ms) & kMaxSequence;
    return {(time << 16) | ((sequence >> 32) & 0xffff), (sequence << 32) | random};
  }
  /// Reads 26 base32 characters; nothing for any other text (also lower case, also overflow).
  static std::optional<Ulid> parse(std::string_view text);

  [[nodiscard]] constexpr std::uint64_t sequence() const {
    return ((high & 0xffff) << 32) | (low >> 32);
  }
  [[nodiscard]] constexpr Instant time() const { return {static_cast<std::int64_t>(high >> 16)}; }
  [[nodiscard]] std::array<char, kTextLength> text() const;

  constexpr auto operator<=>(const Ulid&) const = default;
};

/// A strong id type per kind; `Kind::prefix` is what the text begins with.
template <typename Kind>
struct Id {
  Ulid ulid;

  static std::optional<Id> parse(std::string_view text) {
    if (!text.starts_with(Kind::prefix)) return std::nullopt;
    const auto ulid = Ulid::parse(text.substr(Kind::prefix.size()));
    if (!ulid) return std::nullopt;
    return Id{*ulid};
  }
  [[nodiscard]] std::string text() const {
    const auto digits = ulid.text();
    std::string out(Kind::prefix);
    out.append(digits.data(), digits.size());
    return out;
  }
  [[nodiscard]] constexpr std::uint64_t sequence() const { return ulid.sequence(); }
  [[nodiscard]] constexpr bool is_nil() const { return ulid == Ulid{}; }
  constexpr auto operator<=>(const Id&) const = default;
};

struct JobKind {
  static constexpr std::string_view prefix = "job_";
};
struct BatchKind {
  static constexpr std::string_view prefix = "batch_";
};
struct ScheduleKind {
  static constexpr std::string_view prefix = "sched_";
};
struct BulkKind {
  static constexpr std::string_view prefix = "bulk_";
};

using JobId = Id<JobKind>;
using BatchId = Id<BatchKind>;
using ScheduleId = Id<ScheduleKind>;
using BulkId = Id<BulkKind>;

struct KeyKind {
  static constexpr std::string_view prefix = "key_";
};
using KeyId = Id<KeyKind>;

struct WebhookKind {
  static constexpr std::string_view prefix = "hook_";
};
using WebhookId = Id<WebhookKind>;
struct DeliveryKind {
  static constexpr std::string_view prefix = "dlv_";
};
using DeliveryId = Id<DeliveryKind>;

}  // namespace jobbie::base

template <typename Kind>
struct std::hash<jobbie::base::Id<Kind>> {
  std::size_t operator()(const jobbie::base::Id<Kind>& id) const noexcept {
    return static_cast<std::size_t>((id.ulid.high * 0x9e3779b97f4a7c15ULL) ^ id.ulid.low);
  }
};
