// HTTP/1.1 on one connection: a request out, a head and a body in. Not part of the public
// interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/error.hpp"
#include "client/socket.hpp"

namespace jobbie::client {

/// The most that is taken from a server at once; beyond it, the answer is broken. What is read in
/// parts may be longer.
inline constexpr std::size_t kMaxHead = std::size_t{64} << 10;
inline constexpr std::size_t kMaxBody = std::size_t{256} << 20;

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Response {
  int status = 0;
  Headers headers;  ///< names in small letters
  std::string body;

  /// Empty where there is none.
  std::string_view header(std::string_view name) const;
};

/// One connection and what was read from it. Requests follow one another.
class Exchange {
 public:
  explicit Exchange(Socket socket) : socket_(std::move(socket)) {}

  Result<void> send(std::string_view request, const Patience& patience) {
    return socket_.write(request, patience);
  }
  /// The head of the answer; the body is read with read_body or read_some.
  Result<Response> read_head(const Patience& patience, bool answers_head = false);
  Result<void> read_body(Response& response, const Patience& patience);
  /// Appends the next part of the body; false at its end.
  Result<bool> read_some(std::string& out, const Patience& patience);

  void finish_sending() { socket_.finish_sending(); }
  /// Whether another request may be sent.
  bool reusable() const { return reusable_ && done_ && buffer_.empty() && socket_.is_quiet(); }
  /// Whether any byte of the present answer has come.
  bool answered() const { return answered_; }

 private:
  enum class Framing : std::uint8_t { length, chunked, until_close };

  Result<bool> fill(const Patience& patience);
  Result<std::string> line(const Patience& patience);
  Result<void> next_chunk(const Patience& patience);
  Result<void> set_framing(const Response& response);

  Socket socket_;
  std::string buffer_;
  Framing framing_ = Framing::length;
  std::size_t left_ = 0;  ///< of the body, or of the chunk
  bool first_chunk_ = true;
  bool done_ = true;
  bool reusable_ = false;
  bool answered_ = false;
};

}  // namespace jobbie::client
