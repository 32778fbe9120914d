// The server as its owner sees it: threads, the listener, and an orderly end.
#include "http/server.hpp"

#include <algorithm>
#include <future>
#include <thread>
#include <vector>

#include "base/check.hpp"
#include "http/event_loop.hpp"
#include "http/listener.hpp"

namespace jobbie::http {
namespace {

class ServerImpl final : public Server {
 public:
  ServerImpl(const ServerOptions& options, Handler& handler) : shared_(options, handler) {
    const unsigned threads = std::clamp(options.threads, 1U, kMaxThreads);
    for (unsigned i = 0; i < threads; ++i)
      loops_.push_back(std::make_unique<EventLoop>(i, shared_));
    listener_ = std::make_unique<Listener>(loops_, shared_);
  }
  ~ServerImpl() override { ServerImpl::stop(); }

  Listener& listener() { return *listener_; }
  void secure(std::unique_ptr<TlsIdentity> identity) { shared_.tls = std::move(identity); }

  std::uint16_t port() const override { return listener_->port(); }
  std::size_t connections() const override { return shared_.admission.total(); }
  std::size_t loops() const override { return loops_.size(); }
  Loop& loop(std::size_t index) override { return *loops_.at(index); }

  base::Result<void> reload_tls() override {
    JOBBIE_CHECK(shared_.tls != nullptr);
    return shared_.tls->reload();
  }
  std::optional<base::Instant> tls_expires() const override {
    if (!shared_.tls) return std::nullopt;
    return shared_.tls->expires();
  }

  void start() override {
    JOBBIE_CHECK(threads_.empty());
    listener_->accept_next();
    for (const auto& loop : loops_) threads_.emplace_back([&loop] { loop->run(); });
  }

  void stop_accepting() override {
    if (threads_.empty()) {
      listener_->close();
      return;
    }
    on_loop(*loops_.front(), [this] { listener_->close(); });
  }

  bool drain(base::Duration at_most) override {
    stop_accepting();
    if (threads_.empty()) return true;
    for (const auto& loop : loops_) on_loop(*loop, [&loop] { loop->begin_drain(); });
    return shared_.admission.wait_for_none(at_most);
  }

  void stop() override {
    stop_accepting();
    for (const auto& loop : loops_) loop->ask_to_stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  /// Runs `task` on the loop's thread and waits for it.
  static void on_loop(EventLoop& loop, Task task) {
    JOBBIE_CHECK(!loop.on_thread());
    std::promise<void> done;
    loop.post([&done, work = std::move(task)]() mutable {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  Shared shared_;
  std::vector<std::unique_ptr<EventLoop>> loops_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::thread> threads_;
};

}  // namespace

base::Result<std::unique_ptr<Server>> Server::listen(ServerOptions options, Handler& handler) {
  auto server = std::make_unique<ServerImpl>(options, handler);
  if (options.tls) {
    auto identity = TlsIdentity::load(*options.tls);
    if (!identity) return std::unexpected(std::move(identity).error());
    server->secure(std::move(*identity));
  }
  if (auto opened = server->listener().open(options.host, options.port); !opened)
    return std::unexpected(std::move(opened).error());
  return server;
}

}  // namespace jobbie::http
