// Which key an endpoint asks for, and whether a key is enough for what a request wants. Private to
// the folder.
//
// What a request names by itself is judged here, before the node hears of it. A job that is named
// by its id is judged where its queue is known: by the engine before anything changes, or here
// again when the answer is written.
#pragma once

#include <optional>
#include <string_view>

#include "call/call.hpp"
#include "call/keys.hpp"
#include "face/problem.hpp"
#include "http/message.hpp"
#include "model/access.hpp"

namespace jobbie::face::native {

struct Access {
  enum class Need : std::uint8_t {
    nothing,  ///< open to everybody
    key,      ///< any valid key
    scope,    ///< a key with `scope`
  };
  Need need = Need::scope;
  model::Scope scope = model::Scope::admin;
  std::string_view action = {};               ///< for the audit log; empty: it is not kept there
  std::optional<model::Scope> or_scope = {};  ///< does as well
};

/// Of the endpoint at a route's pattern. One that is not listed asks for the scope admin, and is
/// audited unless it only reads.
[[nodiscard]] Access access_of(http::Method method, std::string_view pattern);

/// The grant of the key that the request shows; a 401 without one, a 403 where it is not enough.
[[nodiscard]] std::expected<call::GrantPtr, Problem> authorise(const http::Request& request,
                                                               const Access& access,
                                                               const call::KeyRing& ring);

/// 403: the key's queues do not include what is asked for.
[[nodiscard]] Problem forbidden_queue();

/// Nothing if every queue that the call names is allowed.
[[nodiscard]] std::optional<Problem> check_queues(const call::Grant& grant, const call::Call& call);

/// What the audit log says of a request whose call is ready. `grant` null: nobody had to say who
/// they are. `target` is what the path names.
[[nodiscard]] command::RecordAction describe_action(const Access& access, const call::Grant* grant,
                                                    const http::Request& request,
                                                    std::string_view target,
                                                    const call::Call& call);

}  // namespace jobbie::face::native
