// Everything that can go wrong with a request, as RFC 9457 tells it. docs/errors.md lists the
// codes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "call/call.hpp"
#include "call/gate.hpp"
#include "command/reply.hpp"
#include "face/answer.hpp"

namespace jobbie::face {

struct Problem {
  int status = 500;
  const char* code = "internal";        ///< stable
  std::string detail;                   ///< a sentence that says what is wrong, and what to do
  std::string field;                    ///< the value at fault: `jobs[3].queue`; empty: none
  std::optional<std::size_t> position;  ///< the byte of the body at fault
  std::string allow;
  unsigned retry_after_s = 0;
  const char* challenge = nullptr;  ///< of a 401: the WWW-Authenticate header
};

/// What a refused command is on the wire.
[[nodiscard]] Problem problem_of(const command::Refusal& refusal);
/// What the gate's refusal is.
[[nodiscard]] Problem problem_of(const call::Denial& denial);
/// What a call that came back without an answer is. `trouble` must not be `none`.
[[nodiscard]] Problem problem_of(call::Trouble trouble);
/// A job, batch or anything else that is named and not there.
[[nodiscard]] Problem not_found(std::string_view what, std::string_view name);

void write(const Problem& problem, Answer& out);

/// The part of a name from outside that is worth repeating to the caller.
[[nodiscard]] std::string_view shown(std::string_view name);

}  // namespace jobbie::face
