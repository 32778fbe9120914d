// One line that is drawn again and again.
#include "cli/progress.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "cli/print.hpp"

namespace jobbie::cli {
namespace {

constexpr std::chrono::milliseconds kLeastRedraw{100};
constexpr int kBarWidth = 24;

}  // namespace

Progress::Progress(const Session& session, std::string what, std::int64_t total)
    : session_(session),
      what_(std::move(what)),
      total_(total),
      began_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { finish(); }

std::string Progress::line(const std::string& what, std::int64_t done, std::int64_t total,
                           double seconds, int width) {
  const double share =
      total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 0;
  const int filled = static_cast<int>(share * kBarWidth);
  std::string bar;
  for (int i = 0; i < kBarWidth; ++i) bar += i < filled ? "█" : "░";
  const double speed = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string text =
      fmt::format("{} {} {:3.0f}%  {}/{}", what, bar, share * 100, count(done), count(total));
  if (speed > 0) {
    text += "  " + rate(speed) + "/s";
    if (done < total)
      text += "  " +
              length(static_cast<std::int64_t>(static_cast<double>(total - done) / speed * 1000)) +
              " left";
  }
  return brief(text, static_cast<std::size_t>(std::max(width - 1, 10)));
}

void Progress::at(std::int64_t done) {
  if (!session_.note_is_terminal()) return;
  const auto now = std::chrono::steady_clock::now();
  if (shown_ && now - drawn_ < kLeastRedraw) return;
  drawn_ = now;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  fmt::print(stderr, "\r\x1b[K{}", line(what_, done, total_, seconds, session_.width()));
  std::fflush(stderr);
}

void Progress::finish() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace jobbie::cli
