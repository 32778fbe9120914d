// Whether a thread is busy enough to stay awake for its next event.
#pragma once

#include <algorithm>
#include <chrono>

namespace jobbie::http {

/// A thread that works for two fifths of its time has its next event so soon that to sleep costs
/// more than to wait awake. One with less to do sleeps.
class Wakefulness {
 public:
  using Duration = std::chrono::nanoseconds;
  /// Looked at anew so often.
  static constexpr Duration kWindow = std::chrono::milliseconds(10);
  static constexpr Duration kLongestLook = std::chrono::microseconds(3);

  [[nodiscard]] bool pays() const { return pays_; }
  /// One look that found nothing, in so much time. If that was long, somebody else had the
  /// processor meanwhile, which is not in what the thread used either.
  void note_waited(Duration waited) { waited_ += std::min(waited, kLongestLook); }

  [[nodiscard]] bool is_due(Duration now) const { return now - since_ >= kWindow; }
  /// `used` is the thread's processor time so far.
  void look(Duration now, Duration used) {
    const auto worked = used - used_ - waited_;
    pays_ = worked * 5 >= (now - since_) * 2;
    since_ = now;
    used_ = used;
    waited_ = {};
  }

 private:
  bool pays_ = false;
  Duration since_{};
  Duration used_{};    ///< at that time
  Duration waited_{};  ///< since then
};

}  // namespace jobbie::http
