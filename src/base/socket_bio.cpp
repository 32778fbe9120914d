// The few operations that the TLS layer asks of a socket.
#include "base/socket_bio.hpp"

#include <cerrno>
#include <cstdint>

#include <openssl/bio.h>
#include <sys/socket.h>

namespace jobbie::base {
namespace {

int descriptor_of(BIO* bio) noexcept {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

bool may_be_repeated() noexcept { return errno == EAGAIN || errno == EINTR; }

int write_socket(BIO* bio, const char* bytes, int count) noexcept {
  BIO_clear_retry_flags(bio);
  const auto sent =
      ::send(descriptor_of(bio), bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL);
  if (sent < 0 && may_be_repeated()) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int read_socket(BIO* bio, char* into, int count) noexcept {
  BIO_clear_retry_flags(bio);
  const auto got = ::recv(descriptor_of(bio), into, static_cast<std::size_t>(count), 0);
  if (got < 0 && may_be_repeated()) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}

long control_socket(BIO* bio, int command, long, void*) noexcept {
  switch (command) {
    case BIO_CTRL_EOF:
      return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    case BIO_CTRL_FLUSH:
      return 1;
    default:
      return 0;
  }
}

/// Lives as long as the process, as the library's own methods do.
const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (made == nullptr) return made;
    BIO_meth_set_write(made, write_socket);
    BIO_meth_set_read(made, read_socket);
    BIO_meth_set_ctrl(made, control_socket);
    return made;
  }();
  return method;
}

}  // namespace

bio_st* new_socket_bio(int descriptor) {
  const BIO_METHOD* const method = socket_method();
  BIO* const bio = method == nullptr ? nullptr : BIO_new(method);
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)));
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace jobbie::base
