// A file as the body of an answer, sent as fast as the client takes it.
#pragma once

#include <cstdint>
#include <memory>

#include "http/server.hpp"

namespace jobbie::http {

struct FileBody {
  int descriptor = -1;
  std::uint64_t bytes = 0;            ///< from the file's beginning
  std::shared_ptr<const void> owner;  ///< keeps the descriptor open; let go when all is sent, or
                                      ///< the client has gone
};

/// On the loop's thread, which never waits for the disk. A file that turns out shorter, or cannot
/// be read, breaks the connection.
void send_file(Responder responder, Response&& head, FileBody file);

}  // namespace jobbie::http
