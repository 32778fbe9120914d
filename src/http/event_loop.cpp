// Turns: what enters the loop, and what happens at the end of each entry.
#include "http/event_loop.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <new>
#include <random>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "http/connection.hpp"

namespace jobbie::http {
namespace {

constexpr std::int64_t kMinTick_ms = 5;
constexpr std::int64_t kMaxTick_ms = 250;
/// An answer of the node follows its request within a write to the disk, and the client's next
/// request soon after: to sleep for so short a time costs more than to stay awake.
constexpr std::chrono::microseconds kStayAwake{50};

/// Deadlines are kept to about a quarter of the shortest of them.
std::int64_t tick_length_ms(const Limits& limits) {
  const std::int64_t shortest =
      std::min({limits.header_time.ms, limits.body_time.ms, limits.idle_time.ms,
                limits.write_time.ms, limits.linger_time.ms, limits.handshake_time.ms,
                limits.room_time.ms, limits.stalled_time.ms});
  return std::clamp(shortest / 4, kMinTick_ms, kMaxTick_ms);
}

/// A task without memory for what it does is lost; a responder that it holds answers as it goes.
void try_to_run(Task& task) {
  try {
    task();
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
  }
}

void try_to_read(Connection& connection, std::uint32_t events) {
  try {
    connection.on_ready(events);
  } catch (const std::bad_alloc&) {
    connection.die();
  }
}

/// Processor time of the thread that asks.
std::chrono::nanoseconds thread_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

std::uint64_t random_seed() {
  std::random_device source;
  return (static_cast<std::uint64_t>(source()) << 32) | source();
}

}  // namespace

EventLoop::EventLoop(unsigned index, Shared& shared)
    : index_(index),
      shared_(shared),
      tick_ms_(tick_length_ms(shared.limits)),
      ids_(random_seed()),
      read_buffer_(std::make_unique_for_overwrite<char[]>(kReadBytes)) {
  update_clock();
}

EventLoop::~EventLoop() {
  stopped_ = true;
  // Tasks that never ran may hold responders, and those look for their connections here.
  take_posted().clear();
}

std::vector<Task> EventLoop::take_posted() {
  const std::lock_guard lock(mutex_);
  return std::exchange(posted_, {});
}

bool EventLoop::on_thread() const {
  return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

void EventLoop::post(Task task) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(task));
  }
  // Those that come before the loop gets to it ride along.
  if (first) asio::post(context_, [this] { run_posted(); });
}

void EventLoop::post_after(base::Duration delay, Task task) {
  const auto place = delayed_.insert(
      delayed_.end(),
      {asio::steady_timer(context_, std::chrono::milliseconds(delay.ms)), std::move(task)});
  place->timer.async_wait([this, place](const asio::error_code& error) {
    if (error) return;  // and nothing is left at that place
    Task due = std::move(place->task);
    delayed_.erase(place);
    due();
    end_turn();
  });
}

void EventLoop::count_answer(int status) {
  const int by = status / 100 - 1;
  if (by < 0 || by >= 5) return;
  // Only this thread writes here: no need to lock the bus.
  auto& count = shared_.answers[index_].by_class[static_cast<std::size_t>(by)];
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

ServerCounts EventLoop::server_counts() const {
  ServerCounts out;
  for (const auto& loop : shared_.answers)
    for (std::size_t i = 0; i < out.answers.size(); ++i)
      out.answers[i] += loop.by_class[i].load(std::memory_order_relaxed);
  out.connections = shared_.admission.total();
  return out;
}

void EventLoop::run_posted() {
  std::vector<Task> tasks = take_posted();
  for (Task& task : tasks) try_to_run(task);
  tasks.clear();  // before the turn's end: a responder that dies with its task answers now
  end_turn();
}

void EventLoop::run() {
  thread_ = std::this_thread::get_id();
  const auto work = asio::make_work_guard(context_);
  wait_for_sockets();
  while (!context_.stopped()) {
    context_.run_one();
    stay_awake();
  }
}

void EventLoop::stay_awake() {
  auto at = std::chrono::steady_clock::now();
  auto last = at;
  while (!context_.stopped()) {
    if (awake_.is_due(at.time_since_epoch())) awake_.look(at.time_since_epoch(), thread_time());
    if (!awake_.pays() || at - last >= kStayAwake) return;
    const bool came = context_.poll() > 0;
    if (!came) std::this_thread::yield();
    const auto now = std::chrono::steady_clock::now();
    if (came)
      last = now;
    else
      awake_.note_waited(now - at);
    at = now;
  }
}

void EventLoop::ask_to_stop() {
  asio::post(context_, [this] {
    close_all();
    // What was to run later is let go now, with whatever it holds.
    std::exchange(delayed_, {}).clear();
    take_posted().clear();
    stopped_ = true;
    context_.stop();
  });
}

void EventLoop::close_all() {
  for (const auto& connection : connections_)
    if (connection) connection->die();
  end_turn();
}

void EventLoop::begin_drain() {
  draining_ = true;
  for (const auto& connection : connections_)
    if (connection) touch(*connection);
  end_turn();
}

void EventLoop::adopt(Socket socket, Peer peer) {
  if (!ticking_) {
    ticking_ = true;
    update_clock();
    schedule_tick();
  }
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(connections_.size()));
    connections_.emplace_back();
    generations_.push_back(0);
    deadlines_.push_back(kNoDeadline);
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  const ConnectionId id{.index = index, .generation = generations_[index]};
  auto tls = shared_.tls ? shared_.tls->session(socket.get()) : nullptr;
  const bool secured = tls != nullptr || !shared_.tls;
  connections_[index] =
      std::make_unique<Connection>(*this, id, std::move(socket), std::move(peer), std::move(tls));
  if (secured && sockets_.add(connections_[index]->socket(), id))
    touch(*connections_[index]);
  else
    connections_[index]->die();
  end_turn();
}

Connection* EventLoop::find(ConnectionId id) {
  JOBBIE_CHECK(stopped_.load(std::memory_order_relaxed) || on_thread());
  if (id.index >= connections_.size() || generations_[id.index] != id.generation) return nullptr;
  Connection* const connection = connections_[id.index].get();
  return connection != nullptr && !connection->dead() ? connection : nullptr;
}

void EventLoop::wait_for_sockets() {
  sockets_.when_ready([this] {
    for (const auto& ready : sockets_.take())
      if (Connection* const connection = find(ready.id)) try_to_read(*connection, ready.events);
    end_turn();
    wait_for_sockets();
  });
}

void EventLoop::watch(const Connection& connection, std::uint32_t events) {
  sockets_.watch(connection.socket(), connection.id(), events);
}

void EventLoop::touch(Connection& connection) {
  if (connection.mark_touched()) touched_.push_back(connection.id());
}

void EventLoop::read_again(ConnectionId id) {
  again_.push_back(id);
  if (again_.size() == 1) asio::post(context_, [this] { run_again(); });
}

void EventLoop::run_again() {
  const std::vector<ConnectionId> ids = std::exchange(again_, {});
  for (const ConnectionId id : ids)
    if (Connection* const connection = find(id)) try_to_read(*connection, EPOLLIN);
  end_turn();
}

void EventLoop::bury(ConnectionId id) { buried_.push_back(id); }

void EventLoop::wait_for_room(ConnectionId id, std::size_t bytes) {
  room_waits_.push_back({.id = id, .bytes = bytes});
  shared_.waiting_for_room.fetch_add(1, std::memory_order_relaxed);
}

/// Those that have waited longest first. One that does not wait any more is passed over.
void EventLoop::wake_for_room() {
  while (!room_waits_.empty()) {
    const RoomWait first = room_waits_.front();
    Connection* const connection = find(first.id);
    const bool waits = connection != nullptr && connection->waits_for_room();
    if (waits && !shared_.has_room(first.bytes)) return;
    room_waits_.pop_front();
    shared_.waiting_for_room.fetch_sub(1, std::memory_order_relaxed);
    if (!waits) continue;
    connection->on_room_here();
    touch(*connection);
    settle_touched();
  }
}

void EventLoop::settle_touched() {
  // Settling a connection may go on with requests that it had put off, and touch it again.
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    if (Connection* const connection = find(touched_[i])) connection->settle();
  }
  touched_.clear();
}

void EventLoop::end_turn() {
  settle_touched();
  if (!room_waits_.empty()) wake_for_room();
  for (const ConnectionId id : buried_) {
    shared_.admission.release(connections_[id.index]->address());
    connections_[id.index].reset();
    ++generations_[id.index];
    deadlines_[id.index] = kNoDeadline;
    free_.push_back(id.index);
    count_.fetch_sub(1, std::memory_order_relaxed);
  }
  buried_.clear();
}

void EventLoop::update_clock() {
  using std::chrono::duration_cast;
  now_ms_ =
      duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
  date_.update(
      duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

void EventLoop::schedule_tick() {
  timer_.expires_after(std::chrono::milliseconds(tick_ms_));
  timer_.async_wait([this](const asio::error_code& error) {
    if (!error) tick();
  });
}

/// One timer for all connections. It rests while there are none, so an idle process sleeps.
void EventLoop::tick() {
  update_clock();
  for (std::size_t i = 0; i < deadlines_.size(); ++i)
    if (deadlines_[i] <= now_ms_ && connections_[i] && !connections_[i]->dead())
      connections_[i]->on_deadline();
  nobody_unfinished_ = false;
  press();
  end_turn();
  ticking_ = connections() > 0;
  if (ticking_) schedule_tick();
}

/// While requests wait for room, clients that take nothing have less time.
void EventLoop::press() {
  const bool waiting = shared_.waiting_for_room.load(std::memory_order_relaxed) > 0;
  if (!waiting && !shared_.owes_too_much()) return;
  for (const auto& connection : connections_)
    if (connection && !connection->dead()) connection->on_pressure();
}

void EventLoop::evict_unfinished(const std::string& address) {
  if (nobody_unfinished_) return;
  struct Candidate {
    Connection::Unfinished how;
    std::int64_t since_ms;
    std::size_t index;
    auto operator<=>(const Candidate&) const = default;
  };
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    const auto& connection = connections_[i];
    if (!connection || connection->dead()) continue;
    if (!address.empty() && connection->address() != address) continue;
    const auto how = connection->unfinished();
    if (how != Connection::Unfinished::no)
      candidates.push_back({how, connection->unfinished_since_ms(), i});
  }
  nobody_unfinished_ = candidates.empty();
  // Several at once, since looking through all costs more than to end one.
  const std::size_t count = std::min(kEvictedAtOnce, (candidates.size() + 1) / 2);
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count),
                    candidates.end());
  for (std::size_t i = 0; i < count; ++i) connections_[candidates[i].index]->die();
  end_turn();
}

}  // namespace jobbie::http
