// What stands in the way of the store, for /readyz and the log: set by its threads, read by any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "store/sqlite.hpp"

namespace jobbie::store {

/// Trouble that no retry can cure: a damaged file, one that is gone, or a sync that failed, after
/// which nobody knows what the disk holds.
inline bool is_lasting(std::string_view code) {
  return code == kCorruptDatabase || code == kDatabaseGone || code == kSyncFailed;
}

class TroubleBox {
 public:
  enum class Source : std::uint8_t { writer, checkpointer, reader };

  void set(Source source, base::Error error) {
    const std::scoped_lock lock(mutex_);
    if (error.code == kCorruptDatabase) damaged_.store(true, std::memory_order_relaxed);
    auto& kept = of(source);
    if (!kept || !is_lasting(kept->code)) kept = std::move(error);
  }
  /// The source has succeeded. Lasting trouble stays.
  void clear(Source source) {
    const std::scoped_lock lock(mutex_);
    auto& kept = of(source);
    if (kept && !is_lasting(kept->code)) kept.reset();
  }
  [[nodiscard]] std::optional<base::Error> get() const {
    const std::scoped_lock lock(mutex_);
    for (const auto& kept : kept_)
      if (kept) return kept;
    return std::nullopt;
  }
  /// Somebody has met damage in the file.
  [[nodiscard]] bool is_damaged() const { return damaged_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool lasts(Source source) const {
    const std::scoped_lock lock(mutex_);
    const auto& kept = kept_[static_cast<std::size_t>(source)];
    return kept && is_lasting(kept->code);
  }

 private:
  std::optional<base::Error>& of(Source source) { return kept_[static_cast<std::size_t>(source)]; }

  std::atomic<bool> damaged_{false};
  mutable std::mutex mutex_;
  std::array<std::optional<base::Error>, 3> kept_;
};

}  // namespace jobbie::store
