// The request as text, and the first line of the answer.
#include "effects/http_client.hpp"

#include <array>
#include <charconv>
#include <mutex>

#include <fmt/format.h>
#include <openssl/ssl.h>

#include "base/check.hpp"
#include "effects/connection.hpp"

namespace jobbie::effects {
namespace {

constexpr std::size_t kMostHeadBytes = std::size_t{16} << 10;

base::Error bad_answer() { return {.code = "bad_answer", .message = "what came back is not HTTP"}; }

std::string head_of(const Post& post) {
  std::string out = fmt::format(
      "POST {} HTTP/1.1\r\nhost: {}\r\nuser-agent: jobbie\r\naccept: */*\r\nconnection: close\r\n"
      "content-type: application/json\r\ncontent-length: {}\r\n",
      post.url.target, post.url.authority(), post.body.size());
  for (const auto& [name, value] : post.headers) out += fmt::format("{}: {}\r\n", name, value);
  out += "\r\n";
  return out;
}

/// `HTTP/1.1 204 …`: the number, or zero.
int status_in(std::string_view head) {
  constexpr std::string_view kStart = "HTTP/1.";
  constexpr std::size_t kNumberAt = 9;
  constexpr std::size_t kDigits = 3;
  if (!head.starts_with(kStart) || head.size() < kNumberAt + kDigits || head[kNumberAt - 1] != ' ')
    return 0;
  int status = 0;
  const auto* begin = head.data() + kNumberAt;
  const auto [end, error] = std::from_chars(begin, begin + kDigits, status);
  return error == std::errc{} && end == begin + kDigits ? status : 0;
}

/// The status of the final answer; those of the hundreds only announce it.
base::Result<int> read_status(Connection& connection) {
  std::string head;
  std::array<char, 2048> part{};
  for (;;) {
    const auto end = head.find("\r\n\r\n");
    if (end != std::string::npos) {
      const int status = status_in(head);
      if (status >= 200) return status;
      if (status < 100) return std::unexpected(bad_answer());
      head.erase(0, end + 4);
      continue;
    }
    if (head.size() > kMostHeadBytes) return std::unexpected(bad_answer());
    const auto got = connection.read(part.data(), part.size());
    if (!got) return std::unexpected(got.error());
    if (*got == 0) return std::unexpected(bad_answer());
    head.append(part.data(), *got);
  }
}

}  // namespace

/// Made when it is first needed: reading all certificates that the system trusts takes its time.
struct HttpClient::Tls {
  struct Free {
    void operator()(SSL_CTX* used) const { SSL_CTX_free(used); }
  };
  std::once_flag made;
  std::unique_ptr<SSL_CTX, Free> context;

  SSL_CTX& get() {
    std::call_once(made, [this] {
      context.reset(SSL_CTX_new(TLS_client_method()));
      JOBBIE_CHECK(context != nullptr);
      SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
      SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
      // The certificates that the system trusts; SSL_CERT_FILE and SSL_CERT_DIR name others.
      SSL_CTX_set_default_verify_paths(context.get());
    });
    return *context;
  }
};

HttpClient::HttpClient(const AllowList& allow) : allow_(allow), tls_(std::make_unique<Tls>()) {}
HttpClient::~HttpClient() = default;

base::Result<int> HttpClient::send(const Post& post) const {
  Connection connection(Connection::Clock::now() + post.timeout, stopping_);
  if (auto opened = connection.open(post.url, allow_); !opened)
    return std::unexpected(opened.error());
  if (post.url.tls) {
    if (auto secured = connection.secure(tls_->get(), post.url); !secured)
      return std::unexpected(secured.error());
  }
  if (auto sent = connection.write(head_of(post)); !sent) return std::unexpected(sent.error());
  if (auto sent = connection.write(post.body); !sent) return std::unexpected(sent.error());
  return read_status(connection);
}

}  // namespace jobbie::effects
