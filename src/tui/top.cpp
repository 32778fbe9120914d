// Joins watcher, screen and keys.
#include "tui/top.hpp"

#include <csignal>
#include <cstdio>

#include <fmt/format.h>

#include "tui/keys.hpp"
#include "tui/screen.hpp"
#include "tui/terminal.hpp"
#include "tui/watcher.hpp"

namespace jobbie::tui {
namespace {

constexpr int kFrameMs = 200;
constexpr std::chrono::milliseconds kDeedTimeout{5000};

volatile std::sig_atomic_t g_ended = 0;

void on_signal(int) { g_ended = 1; }

client::Result<void> print_once(client::Client& client, const TopOptions& options) {
  Watcher watcher(client);
  if (auto looked = watcher.look_once(); !looked) return looked;
  const int columns = options.columns > 0 ? options.columns : 80;
  for (const Line& line : render_once(watcher.snapshot(), columns, choose_charset())) {
    std::string text = text_of(line);
    while (text.ends_with(' ')) text.pop_back();
    fmt::print("{}\n", text);
  }
  return {};
}

/// What came of it is said on the line above the keys.
void perform(client::Client& client, const std::vector<Deed>& deeds, Look& look, Watcher& watcher) {
  if (deeds.empty()) return;
  std::size_t done = 0;
  for (const Deed& deed : deeds) {
    const auto answer =
        client.send({.method = deed.method, .target = deed.target, .timeout = kDeedTimeout});
    look.message = answer ? deed.said : deed.said + ": " + answer.error().message;
    if (answer) ++done;
  }
  if (deeds.size() > 1) look.message = fmt::format("done for {} of {}", done, deeds.size());
  watcher.hurry();
}

}  // namespace

client::Result<void> top(client::Client& client, const TopOptions& options) {
  if (options.once) return print_once(client, options);
  // A server that is not there is said on the shell, not on a screen that vanishes.
  if (const auto there = client.read("/api/v1/cluster/status"); !there)
    return std::unexpected(there.error());
  Watcher watcher(client);
  watcher.start();
  const auto terminal = Terminal::open(options.color);
  if (!terminal)
    return std::unexpected(client::Error{.failure = client::Failure::settings,
                                         .message = "this terminal is of no known kind",
                                         .hint = "Set TERM, or print it once: jobbie top --once"});
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  Look look;
  while (!look.quit && g_ended == 0) {
    const Snapshot snapshot = watcher.snapshot();
    const Size size = terminal->size();
    terminal->draw(render(snapshot, look, size, terminal->charset()));
    const auto key = terminal->key(kFrameMs);
    if (!key) continue;
    const auto deeds = press(*key, snapshot, look, size.rows - 8);
    watcher.want({.view = look.view,
                  .queue = look.queue,
                  .worker = look.worker,
                  .state = look.state,
                  .job_id = look.job_id});
    perform(client, deeds, look, watcher);
  }
  return {};
}

}  // namespace jobbie::tui
