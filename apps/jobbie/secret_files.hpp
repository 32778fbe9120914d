// Files with secrets: who else may change or read them.
#pragma once

#include "base/journal.hpp"
#include "base/result.hpp"
#include "settings.hpp"

namespace jobbie::app {

/// Refuses files with secrets that others than their owner may write, and warns of those that
/// everybody may read. One that is not there is left to whoever reads it.
[[nodiscard]] base::Result<void> check_secret_files(const Settings& settings,
                                                    base::Journal& journal);

}  // namespace jobbie::app
