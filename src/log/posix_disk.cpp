// The disk port on POSIX calls. Appends are direct writes where the file system has them: into
// space that was written before, one request to the device makes them durable, where a buffered
// write and a sync take two (docs/decisions/0009-direct-appends.md).
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/write_out.hpp"
#include "log/disk.hpp"

namespace jobbie::log {
namespace {

constexpr int kFileMode = 0600;

base::Error disk_error(int number, std::string_view doing, const std::string& path) {
  const bool full = number == ENOSPC || number == EDQUOT;
  return {std::string(full               ? kDiskFull
                      : number == ENOENT ? kNoSuchFile
                                         : kDiskFailed),
          std::string(doing) + " " + path + ": " + std::generic_category().message(number)};
}

std::unexpected<base::Error> disk_failure(std::string_view doing, const std::string& path) {
  return std::unexpected(disk_error(errno, doing, path));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// Where the system will not say, it is taken to be so: only what is known to be gone is gone.
bool is_name_of(const std::string& path, int fd) {
  struct stat named {};
  struct stat open {};
  if (::fstat(fd, &open) != 0) return true;
  if (::stat(path.c_str(), &named) != 0) return errno != ENOENT && errno != ENOTDIR;
  return named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

/// Writes to one file past the cache, in whole blocks: the bytes that share a block with the next
/// ones are kept, and written again together with those.
class DirectWriter {
 public:
  /// Null if the file system does not offer it.
  static std::unique_ptr<DirectWriter> open(int file) {
    struct stat info {};
    if (::fstat(file, &info) != 0) return nullptr;
    // Another description of the very same file, whatever its name is by now.
    Descriptor fd(::open(("/proc/self/fd/" + std::to_string(file)).c_str(),
                         O_RDWR | O_CLOEXEC | O_DIRECT | O_DSYNC));
    if (fd.get() < 0) return nullptr;
    auto writer = std::make_unique<DirectWriter>(std::move(fd), info.st_size);
    // Some accept the flag and refuse the calls.
    return writer->load(0) ? std::move(writer) : nullptr;
  }
  DirectWriter(Descriptor fd, off_t size)
      : fd_(std::move(fd)), size_(static_cast<std::uint64_t>(size)) {}

  [[nodiscard]] bool fits(std::uint64_t offset, std::size_t bytes) const {
    return (offset + bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes <= size_;
  }

  /// False with errno: nothing is known about the file's content from `offset` on.
  bool append(std::uint64_t offset, std::string_view bytes) {
    const std::uint64_t begin = offset / kBlockBytes * kBlockBytes;
    const auto lead = static_cast<std::size_t>(offset - begin);
    const std::size_t blocks = (lead + bytes.size() + kBlockBytes - 1) / kBlockBytes;
    if (blocks_.size() < blocks) blocks_.resize(blocks);
    if (lead != 0 && begin != tail_ && !load(begin)) return false;
    char* const data = blocks_.front().bytes.data();
    std::memcpy(data + lead, bytes.data(), bytes.size());
    const std::size_t end = lead + bytes.size();
    std::memset(data + end, 0, blocks * kBlockBytes - end);
    tail_ = kNoTail;
    if (!write(begin, {data, blocks * kBlockBytes})) return false;
    tail_ = begin + (blocks - 1) * kBlockBytes;
    if (blocks > 1) blocks_.front() = blocks_[blocks - 1];
    if (blocks_.size() > kKeptBlocks)
      std::vector<Block>(blocks_.begin(), blocks_.begin() + 1).swap(blocks_);
    return true;
  }
  /// Somebody else has written to the file.
  void forget_tail() { tail_ = kNoTail; }

 private:
  static constexpr std::size_t kBlockBytes = 4096;
  static constexpr std::size_t kKeptBlocks = 256;
  static constexpr std::uint64_t kNoTail = ~std::uint64_t{0};
  struct alignas(kBlockBytes) Block {
    std::array<char, kBlockBytes> bytes;
  };

  /// Reads the block at `begin` into the first place.
  bool load(std::uint64_t begin) {
    if (blocks_.empty()) blocks_.resize(1);
    ssize_t n = 0;
    do n = ::pread(fd_.get(), blocks_.data(), kBlockBytes, static_cast<off_t>(begin));
    while (n < 0 && errno == EINTR);
    return n == static_cast<ssize_t>(kBlockBytes);
  }

  bool write(std::uint64_t offset, std::string_view bytes) {
    while (!bytes.empty()) {
      const auto n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0 || n % static_cast<ssize_t>(kBlockBytes) != 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return true;
  }

  Descriptor fd_;
  const std::uint64_t size_;
  std::vector<Block> blocks_;
  std::uint64_t tail_ = kNoTail;  ///< where the block in the first place belongs
};

class PosixFile final : public File {
 public:
  PosixFile(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  base::Result<void> append_durably(std::uint64_t offset, std::string_view bytes) override {
    if (!std::exchange(tried_direct_, true)) direct_ = DirectWriter::open(fd_.get());
    if (!direct_ || !direct_->fits(offset, bytes.size()))
      return File::append_durably(offset, bytes);
    if (!direct_->append(offset, bytes)) return disk_failure("writing", path_);
    return {};
  }

  base::Result<void> write_at(std::uint64_t offset, std::string_view bytes) override {
    if (direct_) direct_->forget_tail();
    while (!bytes.empty()) {
      const auto n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return disk_failure("writing", path_);
      bytes.remove_prefix(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return {};
  }

  base::Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) override {
    std::size_t done = 0;
    while (done < into.size()) {
      const auto n = ::pread(fd_.get(), into.data() + done, into.size() - done,
                             static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return disk_failure("reading", path_);
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

  void will_read(std::uint64_t offset, std::uint64_t bytes) override {
    // A hint: whether it was taken does not matter.
    static_cast<void>(::posix_fadvise(fd_.get(), static_cast<off_t>(offset),
                                      static_cast<off_t>(bytes), POSIX_FADV_WILLNEED));
  }

  base::Result<void> write_out(std::uint64_t offset, std::uint64_t bytes) override {
    if (!base::write_out(fd_.get(), offset, bytes)) return disk_failure("syncing", path_);
    return {};
  }

  base::Result<void> sync() override {
    // Not repeated, whatever the reason: after a failed sync the system may call pages clean that
    // never reached the disk.
    if (::fdatasync(fd_.get()) != 0) return disk_failure("syncing", path_);
    return {};
  }

  base::Result<std::uint64_t> size() override {
    struct stat info {};
    if (::fstat(fd_.get(), &info) != 0) return disk_failure("looking at", path_);
    return static_cast<std::uint64_t>(info.st_size);
  }

  base::Result<void> reserve(std::uint64_t bytes) override {
    const int error = ::fallocate(fd_.get(), 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
    if (error == ENOSPC || error == EDQUOT)
      return std::unexpected(disk_error(error, "taking space for", path_));
    return {};  // a file system without fallocate: the zeros that follow take the space
  }

  bool stands_at(const std::string& path) const override { return is_name_of(path, fd_.get()); }

 private:
  Descriptor fd_;
  std::string path_;
  std::unique_ptr<DirectWriter> direct_;
  bool tried_direct_ = false;
};

class PosixLock final : public DirectoryLock {
 public:
  explicit PosixLock(Descriptor fd) : fd_(std::move(fd)) {}
  bool stands_at(const std::string& path) const override { return is_name_of(path, fd_.get()); }

 private:
  Descriptor fd_;
};

class PosixDisk final : public Disk {
 public:
  base::Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    const int flags = O_RDWR | O_CLOEXEC | (mode == OpenMode::create ? O_CREAT | O_TRUNC : 0);
    const int fd = ::open(path.c_str(), flags, kFileMode);
    if (fd < 0) return disk_failure("opening", path);
    return std::make_unique<PosixFile>(Descriptor(fd), path);
  }

  base::Result<void> rename(const std::string& from, const std::string& to) override {
    if (std::rename(from.c_str(), to.c_str()) != 0) return disk_failure("renaming", from);
    return {};
  }

  base::Result<void> remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return disk_failure("removing", path);
    return {};
  }

  base::Result<std::vector<std::string>> list(const std::string& directory) override {
    std::error_code error;
    std::vector<std::string> names;
    std::filesystem::directory_iterator at(directory, error);
    for (; !error && at != std::filesystem::directory_iterator(); at.increment(error))
      names.push_back(at->path().filename().string());
    if (error) return std::unexpected(disk_error(error.value(), "listing", directory));
    std::sort(names.begin(), names.end());
    return names;
  }

  base::Result<void> sync_directory(const std::string& directory) override {
    const Descriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0) return disk_failure("opening", directory);
    if (::fsync(fd.get()) != 0) return disk_failure("syncing", directory);
    return {};
  }

  base::Result<void> make_directory(const std::string& directory) override {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) return std::unexpected(disk_error(error.value(), "making", directory));
    return {};
  }

  base::Result<std::unique_ptr<DirectoryLock>> lock(const std::string& directory) override {
    Descriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0) return disk_failure("opening", directory);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return disk_failure("locking", directory);
      return std::unexpected(
          base::Error{std::string(kDirectoryInUse), directory + " is in use by another process"});
    }
    return std::make_unique<PosixLock>(std::move(fd));
  }

  std::uint64_t free_bytes(const std::string& directory) override {
    struct statvfs about {};
    if (::statvfs(directory.c_str(), &about) != 0) return std::numeric_limits<std::uint64_t>::max();
    return std::uint64_t{about.f_bavail} * about.f_frsize;
  }
};

}  // namespace

std::unique_ptr<Disk> posix_disk() { return std::make_unique<PosixDisk>(); }

}  // namespace jobbie::log
