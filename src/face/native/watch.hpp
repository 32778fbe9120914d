// What a client that watches has asked for. Private to the folder.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "base/id.hpp"
#include "call/event_feed.hpp"
#include "call/principal.hpp"
#include "face/problem.hpp"
#include "http/message.hpp"

namespace jobbie::face::native {

/// GET /api/v1/events.
struct EventWatch {
  std::string queue;                         ///< a name or a glob; empty: all
  std::uint64_t types = 0;                   ///< a bit for each command::EventType; zero: all
  base::JobId job;                           ///< nil: all
  std::optional<call::EventPosition> after;  ///< what the client has seen; nothing: it begins now
  bool lost = false;                         ///< it named a place that is none of ours
  call::Principal principal;                 ///< what it may not see is left out

  [[nodiscard]] bool wants(const command::Event& event) const;
};

/// GET /api/v1/jobs/{id}/logs?follow=true.
struct LogFollow {
  base::JobId job;
  std::uint64_t after = 0;  ///< lines up to this one have been seen
  call::Principal principal;
};

/// GET /api/v1/bulk/{id}/progress, as events.
struct BulkFollow {
  base::BulkId bulk;
  call::Principal principal;
};

[[nodiscard]] std::expected<EventWatch, Problem> read_event_watch(const http::Request& request);

}  // namespace jobbie::face::native
