// Acks and fails, one or many; a fetch may carry them too. Private to the folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.hpp"
#include "base/json_writer.hpp"
#include "command/command.hpp"
#include "command/reply.hpp"
#include "face/body.hpp"

namespace jobbie::face::native {

inline constexpr std::size_t kSettlesPerRequest = 10'000;

enum class Settle : std::uint8_t { ack, fail };

/// A job that a caller named. Text that is no id at all names no job, and is kept to be shown.
struct NamedJob {
  base::JobId id;
  std::string odd;  ///< the text, where `id` is nil

  static NamedJob from(std::string_view text);
  void write(base::json::Writer& json) const;
};

/// One element of a list of acks or fails: where its reply will be, or why there is none.
struct SettleItem {
  NamedJob job;
  std::size_t reply = 0;             ///< position in the call's replies
  std::unique_ptr<Problem> problem;  ///< why it never reached the node; else null
};

/// Reads the list `name` and appends one command for each element that makes sense. One that does
/// not (an odd id, a value out of bounds) is an item of its own and does not fail the others; one
/// of the wrong shape fails the request.
[[nodiscard]] bool read_settles(Body& body, std::string_view name, Settle kind,
                                std::size_t max_payload_bytes,
                                std::vector<command::Command>& commands,
                                std::vector<SettleItem>& items);

/// Writes the array of results.
void write_settles(base::json::Writer& json, Settle kind, const std::vector<SettleItem>& items,
                   const std::vector<command::Reply>& replies);

/// A lease id as callers send it back. Text that no lease ever had names one that nobody holds.
[[nodiscard]] bool read_lease(Body& body, std::uint64_t& out);

}  // namespace jobbie::face::native
