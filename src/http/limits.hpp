// Every bound of the HTTP server, in one place. A client can make the server hold no more than
// this.
#pragma once

#include <cstddef>

#include "base/time.hpp"

namespace jobbie::http {

/// What an operator or a test may set.
struct Limits {
  std::size_t header_bytes = std::size_t{16} * 1024;  ///< request line and headers: 431 beyond
  std::size_t target_bytes = std::size_t{8} * 1024;   ///< path and query: 414 beyond
  std::size_t body_bytes = std::size_t{1024} * 1024;  ///< unless the handler says more: 413 beyond

  base::Duration handshake_time = base::seconds(10);  ///< of TLS, from the connection's begin
  base::Duration header_time =
      base::seconds(10);  ///< from a request's first byte to its headers' end
  base::Duration body_time = base::seconds(30);   ///< from there to its last byte
  base::Duration idle_time = base::seconds(120);  ///< between requests
  base::Duration write_time = base::seconds(30);  ///< for a client to take some of its answers
  base::Duration linger_time =
      base::seconds(2);  ///< for a client to see a refusal before the close
  /// For a request to wait for room in `total_answer_bytes`: 503 beyond.
  base::Duration room_time = base::seconds(5);
  /// The same as `write_time`, while others wait for room.
  base::Duration stalled_time = base::seconds(2);

  /// When there are as many, those that have not sent a whole request make way for new ones.
  std::size_t connections = 10'000;
  std::size_t connections_per_address = 5'000;

  /// Requests of one connection that wait for their answers; no more are read until some are sent.
  std::size_t pipelined = 128;
  /// What one connection is owed: answers that it has not taken yet, and those that are being
  /// prepared, at what they may have. No more requests are handled above this, so it is passed by
  /// one answer at most.
  std::size_t answer_bytes = std::size_t{1024} * 1024;
  /// The same over all connections of the server. Above this, requests for large answers wait, and
  /// whoever takes nothing is cut off. Never more than twice this: an answer beyond it is dropped
  /// with its connection.
  std::size_t total_answer_bytes = std::size_t{256} * 1024 * 1024;
  /// Incomplete requests that one loop holds in all: 503 beyond.
  std::size_t held_bytes = std::size_t{256} * 1024 * 1024;
};

/// Headers in one request: 431 beyond.
inline constexpr std::size_t kMaxHeaders = 64;
/// Characters of a method.
inline constexpr std::size_t kMaxMethodBytes = 32;
/// Empty lines that are passed over before a request line.
inline constexpr std::size_t kMaxLeadingLines = 4;
/// A chunk's size with its extensions.
inline constexpr std::size_t kMaxChunkLineBytes = 256;
/// All trailers after the last chunk.
inline constexpr std::size_t kMaxTrailerBytes = std::size_t{8} * 1024;
/// A request id that a client gives; a longer one is replaced.
inline constexpr std::size_t kMaxRequestIdBytes = 128;
/// What one read may take, and the size of each loop's read buffer.
inline constexpr std::size_t kReadBytes = std::size_t{64} * 1024;
/// How far the buffer of an incomplete request grows ahead of what has come.
inline constexpr std::size_t kGrowBytes = std::size_t{256} * 1024;
/// What a closing connection reads and throws away before it is cut.
inline constexpr std::size_t kMaxDiscardBytes = std::size_t{4} * 1024 * 1024;
/// A slow reader gets a new write deadline for each so many bytes.
inline constexpr std::size_t kWriteProgressBytes = std::size_t{16} * 1024;
/// A stream is asked for more when its client has no more than this to take.
inline constexpr std::size_t kRoomBytes = std::size_t{256} * 1024;
/// What an answer is taken to have of which the handler does not say that it may be large.
inline constexpr std::size_t kSmallAnswerBytes = std::size_t{8} * 1024;
/// Unfinished requests that are cut off at once when there are too many connections.
inline constexpr std::size_t kEvictedAtOnce = 64;
/// Output buffers up to this size stay with an idle connection.
inline constexpr std::size_t kKeptOutputBytes = std::size_t{4} * 1024;
/// Connections that one turn of the loop accepts.
inline constexpr int kAcceptBurst = 64;
/// How long accepting rests when the system has no descriptor or memory left.
inline constexpr base::Duration kAcceptBackoff = base::milliseconds(100);
/// Threads of one server.
inline constexpr unsigned kMaxThreads = 64;

}  // namespace jobbie::http
