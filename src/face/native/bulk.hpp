// How a bulk operation is written, and how its progress is watched. Private to the folder.
#pragma once

#include <memory>
#include <string_view>

#include "base/id.hpp"
#include "base/json_writer.hpp"
#include "call/call.hpp"
#include "http/server.hpp"
#include "model/records.hpp"

namespace jobbie::face::native {

[[nodiscard]] std::string_view name_of(model::BulkAction action);
void write_bulk(base::json::Writer& json, const model::BulkRecord& bulk);

/// Whether the request wants the progress of an operation as server-sent events.
[[nodiscard]] bool wants_progress_events(const http::Request& request);

/// Streams the progress of an operation until it has ended, the client has gone or its key was
/// revoked. On the thread of the responder's loop; `inbox` is that thread's. `grant` is of the
/// caller's key; null: everything is allowed.
void stream_progress(base::BulkId bulk, call::GrantPtr grant, call::Service& service,
                     call::Inbox& inbox, http::Responder responder);

}  // namespace jobbie::face::native
