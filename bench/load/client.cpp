// Requests and answers of one connection.
#include "bench/load/client.hpp"

#include <utility>

namespace jobbie::bench::load {
namespace {

constexpr std::size_t kFailureBytes = 300;

}  // namespace

std::expected<Client, std::string> Client::open(const Options& options, Role role,
                                                std::size_t number) {
  auto connection = Connection::open(options.port);
  if (!connection) return std::unexpected(connection.error());
  auto dialect =
      make_dialect(options.dialect, {.put_batch = options.put_batch, .connection = number});
  if (!dialect) return std::unexpected("no such dialect: " + options.dialect);
  return Client(std::move(*connection), std::move(dialect), role);
}

Client::Client(Connection connection, std::unique_ptr<Dialect> dialect, Role role)
    : connection_(std::move(connection)), dialect_(std::move(dialect)), role_(role) {}

Client::Progress Client::greet() {
  return start(Step::hello, dialect_->hello(connection_.out()), 0);
}

Client::Progress Client::put(std::uint64_t stamp_ns) {
  return start(Step::put, dialect_->put(connection_.out(), stamp_ns), 0);
}

Client::Progress Client::take(Take what) {
  return start(Step::take, dialect_->take(connection_.out(), what), 0);
}

Client::Progress Client::finish() {
  return start(Step::finish, dialect_->finish(connection_.out(), jobs_.all()), jobs_.size());
}

Client::Progress Client::finish_and_take(Take what) {
  return start(Step::finish_and_take,
               dialect_->finish_and_take(connection_.out(), jobs_.all(), what), jobs_.size());
}

Client::Progress Client::start(Step step, std::size_t answers, std::size_t acking) {
  step_ = step;
  awaited_ = answers;
  acking_ = acking;
  refused_ = false;
  if (!connection_.flush()) {
    failure_ = "the connection was closed while sending";
    return Progress::failed;
  }
  return answers == 0 ? complete() : Progress::waiting;
}

Client::Progress Client::readable() {
  if (!connection_.receive()) {
    failure_ = "the server closed the connection";
    return Progress::failed;
  }
  for (;;) {
    const auto in = connection_.in();
    if (in.empty()) return Progress::waiting;
    const auto answer = dialect_->read(in, step_, fresh_);
    if (answer.kind == Answer::Kind::incomplete) return Progress::waiting;
    if (answer.kind == Answer::Kind::broken) {
      failure_ = in.substr(0, kFailureBytes);
      return Progress::failed;
    }
    connection_.drop(answer.bytes);
    // A status that arrives when nothing is awaited belongs to a request that is already complete.
    if (answer.kind == Answer::Kind::skip || awaited_ == 0) continue;
    if (answer.kind == Answer::Kind::busy) refused_ = true;
    awaited_ = answer.kind == Answer::Kind::last ? 0 : awaited_ - 1;
    if (awaited_ == 0) return complete();
  }
}

Client::Progress Client::complete() {
  if (refused_) {
    fresh_.clear();
    return Progress::refused;
  }
  std::swap(jobs_, fresh_);
  fresh_.clear();
  return Progress::complete;
}

}  // namespace jobbie::bench::load
