// How a bulk operation is written, and how its progress is watched. Private to the folder.
#pragma once

#include <memory>

#include "base/id.hpp"
#include "base/json_writer.hpp"
#include "call/call.hpp"
#include "face/native/watch.hpp"
#include "http/server.hpp"
#include "model/records.hpp"

namespace jobbie::face::native {

void write_bulk(base::json::Writer& json, const model::BulkRecord& bulk);

/// Streams the progress of an operation until it has ended, the client has gone or its key was
/// revoked. On the thread of the responder's loop; `inbox` is that thread's.
void stream_progress(const BulkFollow& wanted, call::Service& service, call::Inbox& inbox,
                     http::Responder responder);

}  // namespace jobbie::face::native
