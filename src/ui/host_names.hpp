// The names under which browsers may reach a server that asks for no keys.
//
// A page that a browser got from elsewhere becomes "same origin" with us when the name it came from
// is made to resolve to our address afterwards (DNS rebinding). Such a name is a public one, and we
// know our own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/message.hpp"

namespace jobbie::ui {

/// Whether no stranger can make this `host` header his own: an address, a name without a dot, or
/// localhost.
[[nodiscard]] bool is_own_name(std::string_view host);

/// Whether a browser came here by a name that is neither our own nor one of `allowed`.
[[nodiscard]] bool is_foreign_name(const http::Request& request,
                                   const std::vector<std::string>& allowed);

}  // namespace jobbie::ui
