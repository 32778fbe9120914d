// Responders and streams: names for a place in a connection, which may be gone.
#include "base/check.hpp"
#include "http/connection.hpp"
#include "http/event_loop.hpp"
#include "http/problem.hpp"
#include "http/server.hpp"

namespace jobbie::http {
namespace {

Connection* connection_of(const Ticket& ticket) {
  return ticket.loop != nullptr ? ticket.loop->find(ticket.connection) : nullptr;
}

}  // namespace

Responder& Responder::operator=(Responder&& other) noexcept {
  if (this == &other) return *this;
  const Responder old(std::exchange(ticket_, std::exchange(other.ticket_, {})));
  return *this;
}

Responder::~Responder() {
  if (ticket_.loop == nullptr) return;
  if (!waiting()) return;
  send(problem_response(
      {.status = 500, .code = "internal", .detail = "the request was dropped without an answer"}));
}

void Responder::send(Response&& response) {
  const Ticket ticket = std::exchange(ticket_, {});
  if (Connection* const connection = connection_of(ticket))
    connection->answer(ticket.sequence, response, response.body);
}

void Responder::send(int status, std::string_view content_type, std::string_view body) {
  const Ticket ticket = std::exchange(ticket_, {});
  if (Connection* const connection = connection_of(ticket))
    connection->answer(ticket.sequence,
                       {.status = status, .content_type = content_type, .body = {}, .headers = {}},
                       body);
}

Stream Responder::stream(Response&& head) {
  const Ticket ticket = std::exchange(ticket_, {});
  Connection* const connection = connection_of(ticket);
  if (connection != nullptr) connection->begin_stream(ticket.sequence, head);
  return Stream(ticket);
}

Stream Responder::stream(Response&& head, std::uint64_t bytes) {
  const Ticket ticket = std::exchange(ticket_, {});
  Connection* const connection = connection_of(ticket);
  if (connection != nullptr) connection->begin_stream(ticket.sequence, head, bytes);
  return Stream(ticket);
}

void Responder::on_hang_up(Task callback) {
  if (Connection* const connection = connection_of(ticket_))
    connection->on_hang_up(ticket_.sequence, std::move(callback));
}

bool Responder::waiting() const {
  Connection* const connection = connection_of(ticket_);
  return connection != nullptr && connection->is_waiting(ticket_.sequence);
}

Loop& Responder::loop() const {
  JOBBIE_CHECK(ticket_.loop != nullptr);
  return *ticket_.loop;
}

Stream& Stream::operator=(Stream&& other) noexcept {
  if (this == &other) return *this;
  close();
  ticket_ = std::exchange(other.ticket_, {});
  return *this;
}

bool Stream::write(std::string_view part) {
  Connection* const connection = connection_of(ticket_);
  return connection != nullptr && connection->write_stream(ticket_.sequence, part);
}

void Stream::close() {
  const Ticket ticket = std::exchange(ticket_, {});
  if (Connection* const connection = connection_of(ticket)) connection->end_stream(ticket.sequence);
}

void Stream::on_room(Task callback) {
  if (Connection* const connection = connection_of(ticket_))
    connection->on_room(ticket_.sequence, std::move(callback));
}

std::size_t Stream::pending_bytes() const {
  const Connection* const connection = connection_of(ticket_);
  return connection != nullptr ? connection->pending_bytes() : 0;
}

bool Stream::open() const {
  Connection* const connection = connection_of(ticket_);
  return connection != nullptr && connection->is_streaming(ticket_.sequence);
}

Loop& Stream::loop() const {
  JOBBIE_CHECK(ticket_.loop != nullptr);
  return *ticket_.loop;
}

}  // namespace jobbie::http
