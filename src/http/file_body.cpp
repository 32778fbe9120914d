// Files piece by piece, whenever there is room.
#include "http/file_body.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <span>
#include <unistd.h>
#include <utility>
#include <vector>

#include <sys/uio.h>

namespace jobbie::http {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{256} * 1024;
/// What the system is asked to read ahead when a piece is not in memory.
constexpr off_t kAheadBytes = off_t{4} << 20;
constexpr base::Duration kDiskWait = base::milliseconds(2);
/// So often a piece is waited for; then it is read all the same, for there are file systems that
/// never say that it is there.
constexpr int kDiskWaits = 500;

/// Owned by the callback that waits for room, or for the disk.
class Sender : public std::enable_shared_from_this<Sender> {
 public:
  Sender(Stream stream, FileBody file) : stream_(std::move(stream)), file_(std::move(file)) {}

  void go_on() {
    if (!stream_.open()) return;
    if (sent_ == file_.bytes) return stream_.close();
    const auto wanted = std::min<std::uint64_t>(kPieceBytes, file_.bytes - sent_);
    piece_.resize(static_cast<std::size_t>(wanted));
    const auto count = read(waits_ < kDiskWaits ? RWF_NOWAIT : 0);
    if (!count) return wait_for_disk();
    waits_ = 0;
    if (*count <= 0) return stream_.close();  // with less than was promised
    sent_ += static_cast<std::uint64_t>(*count);
    if (!stream_.write({piece_.data(), static_cast<std::size_t>(*count)})) return;
    stream_.on_room([self = shared_from_this()] { self->go_on(); });
  }

 private:
  /// Nothing: it is not in memory yet.
  std::optional<ssize_t> read(int flags) {
    const iovec into{.iov_base = piece_.data(), .iov_len = piece_.size()};
    const auto count = ::preadv2(file_.descriptor, &into, 1, static_cast<off_t>(sent_), flags);
    if (count >= 0 || flags == 0) return count;
    if (errno == EAGAIN) return std::nullopt;
    return read(0);
  }

  void wait_for_disk() {
    if (waits_++ == 0)
      static_cast<void>(::posix_fadvise(file_.descriptor, static_cast<off_t>(sent_), kAheadBytes,
                                        POSIX_FADV_WILLNEED));
    stream_.loop().post_after(kDiskWait, [self = shared_from_this()] { self->go_on(); });
  }

  Stream stream_;
  FileBody file_;
  std::vector<char> piece_;
  std::uint64_t sent_ = 0;
  int waits_ = 0;
};

}  // namespace

void send_file(Responder responder, Response&& head, FileBody file) {
  const auto bytes = file.bytes;
  auto stream = responder.stream(std::move(head), bytes);
  std::make_shared<Sender>(std::move(stream), std::move(file))->go_on();
}

}  // namespace jobbie::http
