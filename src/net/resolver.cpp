// A queue of names, and a few threads that come and go with its contents.
#include "net/resolver.hpp"

#include <algorithm>
#include <csignal>
#include <deque>
#include <mutex>
#include <netdb.h>
#include <optional>
#include <poll.h>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <utility>

#include <sys/socket.h>

#include "net/socket_address.hpp"

namespace jobbie::net {
namespace {

std::unexpected<Error> no_such_host(std::string message) {
  return std::unexpected(Error{.failure = Failure::unknown_host, .message = std::move(message)});
}

/// A thread that starts now gets no signals: those are for the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all{};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Result<std::vector<Address>> system_lookup(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0)
    return no_such_host(::gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, ::freeaddrinfo);
  std::vector<Address> addresses;
  for (const auto* one = list.get(); one != nullptr; one = one->ai_next)
    if (const auto address = from_socket_address(*one->ai_addr)) addresses.push_back(*address);
  return addresses;
}

/// One name on its way. Shared by the caller, who may give it up, and the thread that looks it up.
struct Resolver::Query {
  explicit Query(std::string name) : host(std::move(name)) {}

  const std::string host;
  const Interrupt done;  ///< raised once there is an answer
  std::mutex mutex;
  std::optional<Result<std::vector<Address>>> answer;  ///< guarded by the mutex
};

struct Resolver::Pool : std::enable_shared_from_this<Pool> {
  explicit Pool(Lookup given) : lookup(std::move(given)) {}

  const Lookup lookup;
  std::mutex mutex;
  std::deque<std::shared_ptr<Query>> waiting;  ///< each has a caller that waits for it
  std::size_t threads = 0;

  Result<void> add(std::shared_ptr<Query> query) {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(query));
    if (threads == kMaxLookups) return {};
    try {
      const SignalsBlocked blocked;
      std::thread([self = shared_from_this()] { self->work(); }).detach();
      ++threads;
    } catch (const std::system_error& error) {
      if (threads > 0) return {};  // they will come to it
      waiting.pop_back();
      return std::unexpected(Error{.failure = Failure::no_resources, .message = error.what()});
    }
    return {};
  }

  /// Its caller waits no longer.
  void forget(const std::shared_ptr<Query>& query) {
    const std::lock_guard lock(mutex);
    std::erase(waiting, query);
  }

  void work() {
    while (const auto query = next()) {
      auto answer = look_up(query->host);
      const std::lock_guard lock(query->mutex);
      query->answer = std::move(answer);
      query->done.raise();
    }
  }

  /// Null: there is nothing to do, and the thread ends.
  std::shared_ptr<Query> next() {
    const std::lock_guard lock(mutex);
    if (waiting.empty()) {
      --threads;
      return nullptr;
    }
    auto query = std::move(waiting.front());
    waiting.pop_front();
    return query;
  }

  Result<std::vector<Address>> look_up(const std::string& host) const {
    try {
      auto answer = lookup(host);
      if (!answer) return answer;
      if (answer->empty()) return no_such_host("the name has no address");
      if (answer->size() > kMaxAddresses) answer->resize(kMaxAddresses);
      return answer;
    } catch (...) {  // a lookup that was passed in
      return no_such_host("the lookup failed");
    }
  }
};

Resolver::Resolver(Lookup lookup) : pool_(std::make_shared<Pool>(std::move(lookup))) {}

Result<std::vector<Address>> Resolver::resolve(const std::string& host,
                                               const Deadline& deadline) const {
  if (const auto address = parse_address(host)) return std::vector{*address};
  const auto query = std::make_shared<Query>(host);
  if (query->done.descriptor() < 0)
    return std::unexpected(
        Error{.failure = Failure::no_resources, .message = "too many open files"});
  if (auto added = pool_->add(query); !added) return std::unexpected(std::move(added.error()));
  if (auto answered = wait_for(query->done.descriptor(), POLLIN, deadline); !answered) {
    pool_->forget(query);
    Error error = std::move(answered.error());
    if (error.failure == Failure::timed_out)
      error.message = "the name of the host could not be looked up in time";
    return std::unexpected(std::move(error));
  }
  const std::lock_guard lock(query->mutex);
  return *std::move(query->answer);
}

}  // namespace jobbie::net
