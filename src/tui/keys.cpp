// Movement, prompts, and the requests behind p, r, C, D and commands.
#include "tui/keys.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "client/url.hpp"

namespace jobbie::tui {
namespace {

using client::encoded;

constexpr std::array<const char*, 9> kStates = {
    "", "pending", "active", "scheduled", "waiting", "retrying", "dead", "completed", "cancelled"};
constexpr std::size_t kMostInput = 200;

bool is(int key, Key name) { return key == static_cast<int>(name); }

Deed job_deed(const std::string& id, const std::string& action) {
  if (action == "delete") return {"DELETE", "/api/v1/jobs/" + encoded(id), "deleted " + id};
  return {"POST", "/api/v1/jobs/" + encoded(id) + "/" + action, action + " " + id};
}

Deed queue_deed(const std::string& name, const std::string& action) {
  return {"POST", "/api/v1/queues/" + encoded(name) + "/" + action, action + " " + name};
}

/// The marked rows, or the selected one.
std::vector<std::string> targets(const Look& look) {
  if (look.view == View::job) return {look.job_id};
  if (!look.marked.empty()) return {look.marked.begin(), look.marked.end()};
  if (look.selected.empty()) return {};
  return {look.selected};
}

void show(Look& look, View view) {
  look.view = view;
  look.selected.clear();
  look.marked.clear();
  look.filter.clear();
  look.message.clear();
  look.scroll = 0;
}

void move(const Snapshot& snapshot, Look& look, int by, int page) {
  if (look.view == View::job || look.view == View::help) {
    const int lines = look.view == View::job ? static_cast<int>(snapshot.detail.size()) : 0;
    look.scroll = std::clamp(look.scroll + by, 0, std::max(0, lines - page));
    return;
  }
  const auto names = listed(snapshot, look);
  if (names.empty()) return;
  const auto at = std::find(names.begin(), names.end(), look.selected);
  const auto last = static_cast<std::ptrdiff_t>(names.size()) - 1;
  const std::ptrdiff_t now = at == names.end() ? (by > 0 ? -1 : 0) : at - names.begin();
  look.selected = names[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(now + by, 0, last))];
}

void open(Look& look) {
  const std::string chosen = look.selected;
  if (chosen.empty()) return;
  if (look.view == View::queues || look.view == View::workers) {
    const bool queue = look.view == View::queues;
    show(look, View::jobs);
    look.queue = queue ? chosen : "";
    look.worker = queue ? "" : chosen;
    look.state.clear();
  } else if (look.view == View::jobs || look.view == View::events) {
    look.back = look.view;
    look.view = View::job;
    look.job_id = chosen;
    look.scroll = 0;
  }
}

void go_back(Look& look) {
  if (look.view == View::job) {
    look.view = look.back;
    look.selected = look.job_id;
  } else if (look.view == View::help) {
    look.view = View::queues;
  } else if (!look.filter.empty() || !look.marked.empty()) {
    look.filter.clear();
    look.marked.clear();
  } else if (look.view == View::jobs) {
    show(look, look.worker.empty() ? View::queues : View::workers);
    look.queue.clear();
    look.worker.clear();
  }
  look.message.clear();
}

void ask(Look& look, std::vector<Deed> deeds, const std::string& question) {
  if (deeds.empty()) return;
  look.waiting = std::move(deeds);
  look.message = question;
  look.prompt = Prompt::confirm;
}

std::vector<Deed> toggle_pause(const Snapshot& snapshot, Look& look) {
  std::vector<Deed> deeds;
  if (look.view != View::queues) return deeds;
  for (const auto& name : targets(look))
    for (const QueueRow& row : snapshot.queues)
      if (row.name == name)
        deeds.push_back(queue_deed(name, row.status.empty() ? "pause" : "resume"));
  look.marked.clear();
  return deeds;
}

std::vector<Deed> job_deeds(Look& look, const std::string& action) {
  std::vector<Deed> deeds;
  if (look.view != View::jobs && look.view != View::job) return deeds;
  for (const auto& id : targets(look)) deeds.push_back(job_deed(id, action));
  look.marked.clear();
  return deeds;
}

std::vector<Deed> run_command(Look& look, const std::string& text) {
  const auto space = text.find(' ');
  const std::string verb = text.substr(0, space);
  const std::string what = space == std::string::npos ? "" : text.substr(space + 1);
  if (verb == "q" || verb == "quit") {
    look.quit = true;
  } else if ((verb == "pause" || verb == "resume" || verb == "drain") && !what.empty()) {
    return {queue_deed(what, verb)};
  } else if (verb == "retry" && !what.empty()) {
    return {job_deed(what, verb)};
  } else if ((verb == "cancel" || verb == "delete") && !what.empty()) {
    ask(look, {job_deed(what, verb)}, verb + " " + what + "?");
  } else if (verb == "job" && !what.empty()) {
    look.back = look.view == View::job ? look.back : look.view;
    look.view = View::job;
    look.job_id = what;
  } else if (verb == "queue" && !what.empty()) {
    show(look, View::jobs);
    look.queue = what;
    look.worker.clear();
  } else if (verb == "state" && std::find(kStates.begin(), kStates.end(), what) != kStates.end()) {
    show(look, View::jobs);
    look.state = what;
  } else if (!text.empty()) {
    look.message = "unknown command: " + text + " (? for help)";
  }
  return {};
}

std::vector<Deed> type(int key, Look& look) {
  if (look.prompt == Prompt::confirm) {
    look.prompt = Prompt::none;
    const bool yes = key == 'y' || key == 'Y';
    look.message = yes ? "" : "nothing was done";
    auto deeds = std::exchange(look.waiting, {});
    return yes ? deeds : std::vector<Deed>();
  }
  const bool filter = look.prompt == Prompt::filter;
  if (is(key, Key::escape)) {
    look.prompt = Prompt::none;
    if (filter) look.filter.clear();
  } else if (is(key, Key::enter)) {
    look.prompt = Prompt::none;
    if (!filter) return run_command(look, look.input);
  } else if (is(key, Key::backspace)) {
    if (!look.input.empty()) look.input.pop_back();
  } else if (key >= ' ' && key <= '~' && look.input.size() < kMostInput) {
    look.input.push_back(static_cast<char>(key));
  }
  if (filter && look.prompt == Prompt::filter) look.filter = look.input;
  return {};
}

void next_state(Look& look) {
  const auto at = std::find(kStates.begin(), kStates.end(), look.state);
  const auto next = static_cast<std::size_t>(at - kStates.begin() + 1) % kStates.size();
  look.state = kStates[next];
  look.selected.clear();
}

/// Moves, opens and goes back; false if the key is none of these.
bool navigate(int key, const Snapshot& snapshot, Look& look, int page) {
  constexpr int kFar = 1'000'000;
  if (is(key, Key::up) || key == 'k') return move(snapshot, look, -1, page), true;
  if (is(key, Key::down) || key == 'j') return move(snapshot, look, 1, page), true;
  if (is(key, Key::page_up)) return move(snapshot, look, -page, page), true;
  if (is(key, Key::page_down)) return move(snapshot, look, page, page), true;
  if (is(key, Key::home) || key == 'g') return move(snapshot, look, -kFar, page), true;
  if (is(key, Key::end) || key == 'G') return move(snapshot, look, kFar, page), true;
  if (is(key, Key::enter)) return open(look), true;
  if (is(key, Key::escape) || is(key, Key::left) || is(key, Key::backspace))
    return go_back(look), true;
  if (is(key, Key::tab))
    return show(look, static_cast<View>((static_cast<int>(look.view) + 1) % 4)), true;
  if (key >= '1' && key <= '4') return show(look, static_cast<View>(key - '1')), true;
  return false;
}

}  // namespace

std::vector<Deed> press(int key, const Snapshot& snapshot, Look& look, int page) {
  if (look.prompt != Prompt::none) return type(key, look);
  if (navigate(key, snapshot, look, std::max(page, 1))) return {};
  switch (key) {
    case 'q':
      look.quit = true;
      break;
    case '?':
      show(look, View::help);
      break;
    case '/':
    case ':':
      look.prompt = key == '/' ? Prompt::filter : Prompt::command;
      look.input.clear();
      look.message.clear();
      break;
    case ' ':
      if (look.selected.empty()) break;
      if (look.marked.erase(look.selected) == 0) look.marked.insert(look.selected);
      move(snapshot, look, 1, page);
      break;
    case 'p':
      return toggle_pause(snapshot, look);
    case 's':
      if (look.view == View::jobs) next_state(look);
      break;
    case 'r':
      return job_deeds(look, "retry");
    case 'C':
    case 'D': {
      const std::string verb = key == 'C' ? "cancel" : "delete";
      auto deeds = job_deeds(look, verb);
      const std::string what =
          deeds.size() == 1 ? "this job" : fmt::format("{} jobs", deeds.size());
      ask(look, std::move(deeds), verb + " " + what + "?");
      break;
    }
    default:
      break;
  }
  return {};
}

}  // namespace jobbie::tui
