// The loop: who may go on, what counts, when it ends.
#include "bench/load/run.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <vector>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "bench/load/client.hpp"

namespace jobbie::bench::load {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kLongestSleep = 50 * kMillisecond;
/// After the measured time the queue is emptied, which shows that nothing was lost.
constexpr std::uint64_t kDrainLimit = 60 * kSecond;
constexpr std::size_t kEventsAtOnce = 256;
/// More jobs overdue than this mean that the rate cannot be held.
constexpr std::size_t kMostOverdue = 1'000'000;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

using Role = Client::Role;
using Progress = Client::Progress;

/// One thread; made for one run.
class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}

  std::expected<Figures, std::string> go() {
    if (!connect()) return std::unexpected(failure_);
    start_ = now_ns();
    measure_from_ = start_ + nanoseconds(options_.warm_up_seconds);
    measure_to_ = measure_from_ + nanoseconds(options_.seconds);
    next_due_ = start_;
    if (options_.warm_up_seconds == 0) begin_measuring(start_);
    for (auto& client : clients_) next(client);
    while (failure_.empty() && !over()) turn();
    if (!failure_.empty()) return std::unexpected(failure_);
    if (drains()) {
      figures_.unaccounted =
          static_cast<std::int64_t>(put_) - static_cast<std::int64_t>(acked_ + riding_);
    }
    return std::move(figures_);
  }

 private:
  enum class Phase : std::uint8_t { warm_up, measuring, ending };

  static std::uint64_t nanoseconds(double seconds) {
    return static_cast<std::uint64_t>(seconds * static_cast<double>(kSecond));
  }

  // Connecting.

  bool connect() {
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    clients_.reserve(options_.producers + options_.workers);
    for (std::size_t i = 0; i < options_.producers + options_.workers; ++i) {
      const auto role = i < options_.producers ? Role::producer : Role::worker;
      auto client = Client::open(options_, role, i);
      if (!client) return fail(client.error());
      clients_.push_back(std::move(*client));
      if (!watch(clients_.back(), EPOLL_CTL_ADD) || !greet(clients_.back())) return false;
    }
    return true;
  }

  /// Greetings wait for their answer one after the other: they are not measured.
  bool greet(Client& client) {
    auto progress = client.greet();
    while (progress == Progress::waiting) {
      epoll_event event{};
      if (::epoll_wait(epoll_.get(), &event, 1, 5000) != 1)
        return fail("no answer to the greeting");
      progress = clients_[event.data.u32].readable();
    }
    return progress == Progress::complete || fail(client.failure());
  }

  bool watch(Client& client, int operation) {
    epoll_event event{};
    event.events = client.all_sent() ? EPOLLIN : EPOLLIN | EPOLLOUT;
    event.data.u32 = static_cast<std::uint32_t>(&client - clients_.data());
    return ::epoll_ctl(epoll_.get(), operation, client.fd(), &event) == 0 ||
           fail(fmt::format("epoll: {}", std::strerror(errno)));
  }

  bool fail(std::string_view why) {
    if (failure_.empty()) failure_ = why.empty() ? "failed without a word" : why;
    return false;
  }

  // The loop.

  void turn() {
    std::array<epoll_event, kEventsAtOnce> events;
    const auto sleep = sleep_ns();
    const timespec timeout{.tv_sec = 0, .tv_nsec = static_cast<long>(sleep)};
    const int count = ::epoll_pwait2(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                     &timeout, nullptr);
    if (count < 0 && errno != EINTR) fail(std::strerror(errno));
    for (int i = 0; i < count; ++i) {
      const auto& event = events[static_cast<std::size_t>(i)];
      auto& client = clients_[event.data.u32];
      if ((event.events & EPOLLOUT) != 0) {
        if (!client.flush()) fail("the connection was closed while sending");
        if (client.all_sent()) watch(client, EPOLL_CTL_MOD);
      }
      if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0)
        progressed(client, client.readable());
    }
    const auto now = now_ns();
    if (phase_ == Phase::warm_up && now >= measure_from_) begin_measuring(now);
    if (phase_ == Phase::measuring && now >= measure_to_) end_measuring(now);
    if (phase_ == Phase::measuring && at_rest()) end_measuring(last_answer_);
    if (options_.mode == Mode::latency && phase_ != Phase::ending) send_due(now);
    if (put_started_ + options_.put_batch <= acked_ + options_.window) wake(parked_);
    if (acked_ <= put_ + options_.window) wake(parked_workers_);
    wake(retry_);
  }

  [[nodiscard]] std::uint64_t sleep_ns() const {
    if (!retry_.empty()) return kMillisecond;
    if (options_.mode != Mode::latency || phase_ == Phase::ending) return kLongestSleep;
    const auto now = now_ns();
    return next_due_ <= now ? 0 : std::min(next_due_ - now, kLongestSleep);
  }

  void progressed(Client& client, Progress progress) {
    switch (progress) {
      case Progress::waiting:
        // What the kernel did not take at once goes when there is room.
        if (!client.all_sent()) watch(client, EPOLL_CTL_MOD);
        return;
      case Progress::failed:
        fail(fmt::format("{}: {}", options_.dialect, client.failure()));
        return;
      case Progress::refused:
        ++figures_.busy;
        uncount_start(client);
        retry_.push_back(&client);
        return;
      case Progress::complete:
        completed(client);
        next(client);
        return;
    }
  }

  void uncount_start(const Client& client) {
    if (client.step() == Step::put) put_started_ -= options_.put_batch;
    if (client.step() == Step::finish_and_take) riding_ -= client.acking();
  }

  void completed(const Client& client) {
    switch (client.step()) {
      case Step::hello:
        return;
      case Step::put:
        put_ += options_.put_batch;
        break;
      case Step::take:
        record(client);
        empty_ = client.jobs().size() == 0;
        break;
      case Step::finish:
        acked_ += client.acking();
        break;
      case Step::finish_and_take:
        acked_ += client.acking();
        riding_ -= client.acking();
        record(client);
        break;
    }
    if (client.step() != Step::take) last_answer_ = now_ns();
  }

  void record(const Client& client) {
    if (options_.mode != Mode::latency || phase_ != Phase::measuring) return;
    for (const auto& job : client.jobs().all()) {
      if (job.stamp_ns >= measure_from_) figures_.latency.add(now_ns() - job.stamp_ns);
    }
  }

  // What a client does next.

  void next(Client& client) {
    if (!failure_.empty()) return;
    if (client.role() == Role::producer) {
      producer_next(client);
    } else {
      worker_next(client);
    }
  }

  void producer_next(Client& client) {
    if (phase_ == Phase::ending) return;
    if (options_.mode == Mode::latency) {
      if (overdue_.empty()) {
        free_.push_back(&client);
        return;
      }
      const auto due = overdue_.front();
      overdue_.pop_front();
      return put(client, due);
    }
    if (options_.jobs > 0 && put_started_ + options_.put_batch > options_.jobs) return;
    // The window couples both sides, so that the figure is of whole lives.
    if (options_.mode == Mode::both &&
        put_started_ + options_.put_batch > acked_ + options_.window) {
      parked_.push_back(&client);
      return;
    }
    put(client, 0);
  }

  void put(Client& client, std::uint64_t stamp_ns) {
    put_started_ += options_.put_batch;
    progressed(client, client.put(stamp_ns));
  }

  void worker_next(Client& client) {
    const bool waits = options_.mode != Mode::consume;
    const Take what{.count = options_.take_batch, .wait = waits};
    if (client.jobs().size() > 0) {
      const bool merges = options_.merge && phase_ != Phase::ending;
      if (merges) riding_ += client.jobs().size();
      progressed(client, merges ? client.finish_and_take(what) : client.finish());
      return;
    }
    if (phase_ == Phase::ending && !drains()) return;
    if (options_.mode == Mode::consume && (empty_ || enough())) return;
    if (options_.backlog > 0 && acked_ > put_ + options_.window) {
      parked_workers_.push_back(&client);
      return;
    }
    progressed(client, client.take(what));
  }

  void send_due(std::uint64_t now) {
    const auto step = nanoseconds(1 / options_.rate);
    for (; next_due_ <= now; next_due_ += step) {
      if (free_.empty()) {
        // Every producer still waits for the server, so the wait counts from when the job was due.
        overdue_.push_back(next_due_);
        ++figures_.late;
      } else {
        auto* const client = free_.back();
        free_.pop_back();
        put(*client, now_ns());
      }
    }
    if (overdue_.size() > kMostOverdue) fail("the server cannot hold the rate");
  }

  void wake(std::vector<Client*>& parked) {
    if (parked.empty()) return;
    std::vector<Client*> woken;
    woken.swap(parked);
    for (auto* const client : woken) next(*client);
  }

  // The ends.

  [[nodiscard]] bool drains() const {
    return (options_.mode == Mode::both && options_.backlog == 0) || options_.mode == Mode::latency;
  }

  [[nodiscard]] bool enough() const { return options_.jobs > 0 && acked_ >= options_.jobs; }

  [[nodiscard]] bool at_rest() const {
    return retry_.empty() && (options_.mode == Mode::enqueue || options_.mode == Mode::consume) &&
           std::ranges::none_of(clients_, &Client::under_way);
  }

  void begin_measuring(std::uint64_t now) {
    phase_ = Phase::measuring;
    measure_from_ = now;
    put_before_ = put_;
    acked_before_ = acked_;
    cpu_before_ = cpu_seconds();
  }

  void end_measuring(std::uint64_t now) {
    phase_ = Phase::ending;
    drain_to_ = now_ns() + kDrainLimit;
    figures_.seconds =
        now > measure_from_ ? static_cast<double>(now - measure_from_) / kSecond : options_.seconds;
    figures_.enqueued = put_ - put_before_;
    figures_.acked = acked_ - acked_before_;
    figures_.client_cpu = (cpu_seconds() - cpu_before_) / figures_.seconds;
  }

  [[nodiscard]] bool over() const {
    if (phase_ != Phase::ending) return false;
    if (now_ns() > drain_to_) return true;
    if (!retry_.empty()) return false;
    const auto busy = [&](const Client& c) {
      return c.under_way() && (c.role() == Role::producer || !drains());
    };
    if (std::ranges::any_of(clients_, busy)) return false;
    return !drains() || acked_ + riding_ >= put_;
  }

  const Options& options_;
  Descriptor epoll_;
  std::vector<Client> clients_;
  std::string failure_;
  Figures figures_;
  Phase phase_ = Phase::warm_up;

  std::uint64_t start_ = 0;
  std::uint64_t measure_from_ = 0;
  std::uint64_t measure_to_ = 0;
  std::uint64_t drain_to_ = 0;
  std::uint64_t last_answer_ = 0;

  std::uint64_t put_started_ = 0;
  std::uint64_t put_ = 0;
  std::uint64_t acked_ = 0;
  std::uint64_t riding_ = 0;  ///< acks sent with a fetch that is not answered yet
  std::uint64_t put_before_ = 0;
  std::uint64_t acked_before_ = 0;
  double cpu_before_ = 0;
  bool empty_ = false;  ///< the last fetch brought nothing

  std::vector<Client*> parked_;          ///< producers at the window
  std::vector<Client*> parked_workers_;  ///< workers that have eaten into the backlog
  std::vector<Client*> retry_;           ///< refused, to ask again
  std::vector<Client*> free_;            ///< latency: producers with nothing to send
  std::deque<std::uint64_t> overdue_;    ///< latency: when jobs were due that found nobody free
  std::uint64_t next_due_ = 0;
};

}  // namespace

std::expected<Figures, std::string> run(const Options& options) { return Run(options).go(); }

}  // namespace jobbie::bench::load
