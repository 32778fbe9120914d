// Secrets of API keys: drawn here and nowhere else, shown once, kept as digests.
#pragma once

#include <string>
#include <string_view>

#include "model/access.hpp"

namespace jobbie::face {

/// `jbk_` and 40 characters, 200 bits from the system's random source.
[[nodiscard]] std::string make_secret();

/// Fills in what the server keeps of a secret.
void keep_secret(std::string_view secret, model::KeySpec& key);

}  // namespace jobbie::face
