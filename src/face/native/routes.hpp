// The one table of what the native face answers: a row for each endpoint. Private to the folder.
//
// The router, the bounds of bodies and answers, who may ask, what the audit log calls it and what
// happens when the client goes all follow from the row. api/openapi.yaml is held against the table
// by openapi_test.cpp, and gate_walk_test.cpp asks for every row with every kind of key.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "call/gate.hpp"
#include "face/native/endpoints.hpp"
#include "http/message.hpp"

namespace jobbie::face::native {

/// What a key that is for some queues only gets.
enum class Reach : std::uint8_t {
  none,      ///< all of it: it concerns no queue, or the node as a whole
  named,     ///< the request names queues, and one that the key is not for is refused: 403
  engine,    ///< it names things by ids, and the engine refuses what is in other queues
  answer,    ///< it names one thing by its id, and what is in another queue is not found: 404
  narrowed,  ///< its part of the list
  across,    ///< nothing: 403
};

/// What is done with a body.
enum class BodyClass : std::uint8_t {
  ignored,  ///< nothing
  one,      ///< JSON with one payload at most
  many,     ///< JSON, perhaps with many jobs
};

/// What is known of an answer before it is made; http::AnswerBound says what it is good for.
enum class AnswerClass : std::uint8_t {
  small,
  large,  ///< one payload, or a list
  page,   ///< a page of whole jobs; the node makes few at a time, so it may wait for its turn
  waits,  ///< as large, and it may be long in coming
};

/// What else a request may be.
enum class Kind : std::uint8_t {
  plain,
  read,       ///< it takes `?consistency=`
  long_read,  ///< the same, and the node need not do it once the client has gone
  claim,      ///< what it claims is not handed out once the client has gone
  trial,      ///< as long as it is only tried out, the node need not do it once the client has gone
};

using Handler = Outcome (*)(const Input&);

struct Route {
  http::Method method;
  std::string_view pattern;
  call::Action action;
  Reach reach;
  BodyClass body;
  AnswerClass answer;
  Kind kind;
  Handler handler;
  std::string_view summary;  ///< as api/openapi.yaml has it
};

/// Their numbers are their places.
[[nodiscard]] std::span<const Route> routes();

}  // namespace jobbie::face::native
