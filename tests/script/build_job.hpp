// The parts of build.cpp that deal with jobs: specs, claims, leases and actions on one job.
#pragma once

#include <optional>

#include "command/command.hpp"
#include "script/line.hpp"
#include "script/names.hpp"

namespace jobbie::script {

/// The options of one job, as `enqueue`, the lines below `enqueue_many` and `schedule` take them.
[[nodiscard]] model::JobSpec read_job_spec(const Line& line, const Names& names, base::Instant now);

/// Nothing if the verb is not one of those on jobs.
[[nodiscard]] std::optional<command::Command> build_job_command(const Line& line,
                                                                const Names& names,
                                                                base::Instant now);

/// One of a few words, by position.
template <typename Enum>
[[nodiscard]] Enum read_enum(const Line& line, const std::string& value,
                             std::initializer_list<const char*> options) {
  int position = 0;
  for (const char* option : options) {
    if (value == option) return static_cast<Enum>(position);
    ++position;
  }
  line.fail("not one of the choices: " + value);
}

/// `-` stands for nothing.
[[nodiscard]] base::Blob word_blob(const std::string& word);

}  // namespace jobbie::script
