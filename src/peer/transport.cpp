// Joins the parts on one thread.
#include "peer/transport.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "peer/dialler.hpp"
#include "peer/door.hpp"
#include "peer/failure.hpp"
#include "peer/link.hpp"
#include "peer/snapshot_file.hpp"
#include "peer/snapshots.hpp"
#include "peer/workers.hpp"

namespace jobbie::peer {
namespace {

constexpr std::int64_t kShortestTick_ms = 5;
constexpr std::int64_t kLongestTick_ms = 250;
/// Frames beyond this would not fit into the numbers that OpenSSL takes.
constexpr std::size_t kMaxFrame = std::size_t{1} << 30;

/// Deadlines are kept to about a quarter of the shortest of them.
std::chrono::milliseconds tick_length(const Limits& limits) {
  const auto shortest =
      std::min({limits.handshake_time.ms, limits.ping_time.ms, limits.idle_time.ms});
  return std::chrono::milliseconds(std::clamp(shortest / 4, kShortestTick_ms, kLongestTick_ms));
}

}  // namespace

/// Everything but the calls from outside runs on `thread_`.
class Transport::Impl {
 public:
  Impl(Options options, Handler& handler);
  base::Result<void> open();
  void start();
  void stop();

  template <typename Work>
  void post(Work work) {
    asio::post(common_.io, std::move(work));
  }
  void introduce(Hello self);
  bool send(std::uint64_t node, std::uint8_t kind, std::string bytes);
  void send_snapshot(SnapshotSender::Order order);
  [[nodiscard]] std::vector<Status> status() const;

  Common common_;
  SnapshotSender sender_{common_};
  SnapshotReceiver receiver_{common_};
  Dialler dialler_{common_};
  Door door_{common_, receiver_};

 private:
  void tick();
  void publish();

  asio::steady_timer timer_{common_.io};
  std::thread thread_;
  std::mutex stop_mutex_;
  std::mutex gate_;  ///< guards stopping_: what passes it is posted before the end is
  bool stopping_ = false;
  mutable std::mutex mutex_;  ///< guards status_
  std::vector<Status> status_;
};

Transport::Impl::Impl(Options options, Handler& handler) : common_(std::move(options), handler) {}

base::Result<void> Transport::Impl::open() {
  const Options& options = common_.options;
  if (auto fine = check(options.self); !fine) return fine;
  if (options.limits.frame_bytes > kMaxFrame)
    return failure("bad_limits", "frames may not be longer than 1 GiB");
  common_.self = {.hello = options.self, .instance = random_number()};
  common_.secret = key_of_secret(options.secret);
  if (options.tls) {
    auto tls = TlsContext::load(*options.tls);
    if (!tls) return std::unexpected(std::move(tls.error()));
    common_.tls = std::move(*tls);
  }
  if (!options.snapshot_dir.empty())
    if (auto made = ArrivingFile::prepare(options.snapshot_dir); !made) return made;
  if (options.listen.empty()) return {};
  return door_.open();
}

void Transport::Impl::start() {
  door_.accept();
  tick();
  thread_ = std::thread([this] {
    block_sigpipe();
    const auto work = asio::make_work_guard(common_.io);
    common_.io.run();
  });
}

void Transport::Impl::stop() {
  const std::lock_guard lock(stop_mutex_);
  if (!thread_.joinable()) return;
  JOBBIE_CHECK(thread_.get_id() != std::this_thread::get_id());
  {
    const std::lock_guard gate(gate_);
    stopping_ = true;
  }
  // Snapshots report their end on the thread, so they go first.
  sender_.stop();
  receiver_.stop();
  post([this] {
    timer_.cancel();
    dialler_.stop();
    door_.stop();
    common_.io.stop();
  });
  thread_.join();
}

void Transport::Impl::tick() {
  dialler_.tick();
  door_.tick();
  publish();
  timer_.expires_after(tick_length(common_.limits()));
  timer_.async_wait([this](const asio::error_code& error) {
    if (!error) tick();
  });
}

void Transport::Impl::introduce(Hello self) {
  common_.self.hello = std::move(self);
  door_.redo();
  dialler_.redo();
}

bool Transport::Impl::send(std::uint64_t node, std::uint8_t kind, std::string bytes) {
  JOBBIE_CHECK(kind < kFirstOwnKind);
  if (bytes.size() > common_.limits().frame_bytes) return false;
  return dialler_.send(node, kind, std::move(bytes));
}

void Transport::Impl::send_snapshot(SnapshotSender::Order order) {
  const std::lock_guard gate(gate_);
  if (stopping_) return order.done(failure("stopped", "this node is stopping"));
  post([this, order = std::move(order)]() mutable {
    if (const auto to = dialler_.endpoint_of(order.node))
      return sender_.send(std::move(order), *to);
    order.done(failure("not_connected", "there is no connection to that node"));
  });
}

void Transport::Impl::publish() {
  auto all = dialler_.status();
  auto incoming = door_.status();
  for (Status& status : all) {
    const auto found = incoming.find(status.node_id);
    if (found == incoming.end()) continue;
    status.incoming = true;
    status.received_bytes = found->second.received_bytes;
  }
  for (const Status& status : all) incoming.erase(status.node_id);
  for (auto& [node, status] : incoming) all.push_back(std::move(status));
  const std::lock_guard lock(mutex_);
  status_ = std::move(all);
}

std::vector<Status> Transport::Impl::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

Transport::Transport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Transport::~Transport() { stop(); }

base::Result<std::unique_ptr<Transport>> Transport::open(Options options, Handler& handler) {
  auto impl = std::make_unique<Impl>(std::move(options), handler);
  if (auto opened = impl->open(); !opened) return std::unexpected(std::move(opened.error()));
  impl->start();
  return std::unique_ptr<Transport>(new Transport(std::move(impl)));
}

void Transport::stop() { impl_->stop(); }

void Transport::dial(std::vector<std::string> addresses) {
  impl_->post(
      [impl = impl_.get(), addresses = std::move(addresses)] { impl->dialler_.set(addresses); });
}

void Transport::introduce(Hello self) {
  JOBBIE_CHECK(check(self).has_value());
  impl_->post(
      [impl = impl_.get(), self = std::move(self)]() mutable { impl->introduce(std::move(self)); });
}

bool Transport::send(std::uint64_t node, std::uint8_t kind, std::string bytes) {
  return impl_->send(node, kind, std::move(bytes));
}

void Transport::send_snapshot(std::uint64_t node, std::string header, std::string path,
                              std::function<void(base::Result<void>)> done) {
  impl_->send_snapshot({.node = node,
                        .header = std::move(header),
                        .path = std::move(path),
                        .done = std::move(done)});
}

void Transport::finish(std::uint64_t token, bool taken) { impl_->receiver_.finish(token, taken); }

std::vector<Status> Transport::status() const { return impl_->status(); }

std::uint16_t Transport::port() const { return impl_->door_.port(); }

}  // namespace jobbie::peer
