// A blocking client and a handler of small parts, for the server's tests.
#pragma once

#include <charconv>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/check.hpp"
#include "http/message.hpp"
#include "http/server.hpp"

namespace jobbie::http {

/// A handler that does what the test says.
class TestHandler final : public Handler {
 public:
  std::function<void(const Request&, Responder)> on_request;
  std::optional<std::size_t> limit;
  std::size_t large_bytes = 0;  ///< what answers at /large/… may have; those at /wait/… wait

  void handle(const Request& request, Responder responder) override {
    on_request(request, std::move(responder));
  }
  RequestBounds bounds(Method, std::string_view path) const override {
    if (path == "/large") return {.body_bytes = limit, .answer = {}};
    if (path.starts_with("/large/")) return {.body_bytes = {}, .answer = {.bytes = large_bytes}};
    if (path.starts_with("/wait/"))
      return {.body_bytes = {}, .answer = {.bytes = large_bytes, .waits = true}};
    return {};
  }
};

struct TestAnswer {
  int status = 0;
  std::string head;
  std::string body;

  /// The value of a header of that (lower-case) name, or "-".
  [[nodiscard]] std::string header(const std::string& name) const {
    const std::size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "-";
    const std::size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

/// One connection. Every wait ends after ten seconds, as a failure.
class TestClient {
 public:
  explicit TestClient(std::uint16_t port, int receive_buffer = 0) {
    descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    JOBBIE_CHECK(descriptor_ >= 0);
    if (receive_buffer > 0)
      ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    const timeval wait{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  virtual ~TestClient() { close(); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }

  /// False if the server does not take it all.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const long count = write_some(text);
      if (count <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  virtual void end_sending() { ::shutdown(descriptor_, SHUT_WR); }
  /// With a reset instead of an orderly end.
  void reset() {
    const linger hard{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close();
  }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

  /// The next answer with its body by content-length (or none, for a HEAD). Status 0: there is
  /// none.
  TestAnswer answer(bool head_only = false) {
    TestAnswer out;
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
      if (!read_more()) return out;
    out.head = buffer_.substr(0, end + 2);
    buffer_.erase(0, end + 4);
    std::from_chars(out.head.data() + 9, out.head.data() + 12, out.status);
    std::size_t length = 0;
    const std::string given = out.header("content-length");
    std::from_chars(given.data(), given.data() + given.size(), length);
    if (head_only) return out;
    while (buffer_.size() < length)
      if (!read_more()) return {};
    out.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    return out;
  }

  TestAnswer ask(std::string_view request) {
    send(request);
    return answer();
  }

  /// Everything up to the end of the connection.
  std::string rest() {
    while (read_more()) {
    }
    return std::exchange(buffer_, {});
  }
  /// Everything up to and with `mark`; nothing if it does not come.
  std::string until(std::string_view mark) {
    std::size_t at = 0;
    while ((at = buffer_.find(mark)) == std::string::npos)
      if (!read_more()) return {};
    std::string out = buffer_.substr(0, at + mark.size());
    buffer_.erase(0, at + mark.size());
    return out;
  }

 protected:
  [[nodiscard]] int descriptor() const { return descriptor_; }
  virtual long write_some(std::string_view text) {
    return ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  virtual long read_some(std::span<char> into) {
    return ::recv(descriptor_, into.data(), into.size(), 0);
  }

 private:
  bool read_more() {
    char bytes[16384];
    const long count = read_some(bytes);
    if (count > 0) buffer_.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
  }

  int descriptor_ = -1;
  bool connected_ = false;
  std::string buffer_;
};

inline std::string get(const std::string& path, const std::string& headers = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n";
}

inline std::string post(const std::string& path, const std::string& body,
                        const std::string& headers = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + headers + "\r\n" + body;
}

}  // namespace jobbie::http
