// Files by system calls, because each failure of a disk has to be seen.
#include "peer/snapshot_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <utility>

#include <openssl/evp.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/check.hpp"
#include "base/write_out.hpp"
#include "peer/failure.hpp"
#include "peer/seal.hpp"

namespace jobbie::peer {
namespace {

constexpr std::string_view kPrefix = "incoming-";
constexpr std::string_view kPart = ".part";
constexpr std::string_view kWhole = ".snapshot";
constexpr std::size_t kNameBytes = 8;

std::unexpected<base::Error> file_failure(const std::string& path) {
  const int error = errno;
  return failure(error == ENOSPC ? "disk_full" : "io_error", path + ": " + std::strerror(error));
}

bool sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool synced = ::fsync(descriptor) == 0;
  ::close(descriptor);
  return synced;
}

}  // namespace

void Digest::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Digest::Digest() : context_(EVP_MD_CTX_new()) {
  JOBBIE_CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Digest::add(std::string_view bytes) {
  JOBBIE_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

base::Sha256 Digest::take() {
  base::Sha256 out{};
  unsigned int length = 0;
  JOBBIE_CHECK(EVP_DigestFinal_ex(context_.get(), out.data(), &length) == 1);
  return out;
}

OutgoingFile::OutgoingFile(int descriptor, std::uint64_t bytes)
    : descriptor_(descriptor), bytes_(bytes), left_(bytes) {}

OutgoingFile::OutgoingFile(OutgoingFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(other.bytes_),
      left_(other.left_),
      digest_(std::move(other.digest_)) {}

OutgoingFile::~OutgoingFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

base::Result<OutgoingFile> OutgoingFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failure("io_error", path + ": " + std::strerror(errno));
  OutgoingFile file(descriptor, 0);
  struct stat about {};
  if (::fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode))
    return failure("io_error", path + " is not a file that can be sent");
  file.bytes_ = file.left_ = static_cast<std::uint64_t>(about.st_size);
  return file;
}

base::Result<std::string_view> OutgoingFile::read(std::span<char> buffer) {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), left_));
  ssize_t got = 0;
  do got = ::read(descriptor_, buffer.data(), wanted);
  while (got < 0 && errno == EINTR);
  if (got < 0) return failure("io_error", std::strerror(errno));
  if (got == 0 && wanted > 0) return failure("io_error", "the file has become shorter");
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  left_ -= bytes.size();
  digest_.add(bytes);
  return bytes;
}

ArrivingFile::ArrivingFile(int descriptor, std::string folder, std::string name,
                           std::uint64_t bytes)
    : descriptor_(descriptor), folder_(std::move(folder)), name_(std::move(name)), left_(bytes) {}

ArrivingFile::ArrivingFile(ArrivingFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      folder_(std::move(other.folder_)),
      name_(std::move(other.name_)),
      left_(other.left_),
      outside_(other.outside_),
      inside_(other.inside_),
      digest_(std::move(other.digest_)) {}

ArrivingFile::~ArrivingFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(part_path().c_str());
}

std::string ArrivingFile::part_path() const { return folder_ + "/" + name_ + std::string(kPart); }

base::Result<ArrivingFile> ArrivingFile::create(const std::string& folder, std::uint64_t bytes) {
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0) return file_failure(folder);
  if (bytes / space.f_frsize >= space.f_bavail)
    return failure("disk_full", "the snapshot does not fit onto the disk");
  std::string random(kNameBytes, '\0');
  fill_random(random.data(), random.size());
  std::string name = std::string(kPrefix) + base::hex(random);
  const std::string path = folder + "/" + name + std::string(kPart);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return file_failure(path);
  return ArrivingFile(descriptor, folder, std::move(name), bytes);
}

base::Result<void> ArrivingFile::write(std::string_view bytes) {
  if (bytes.size() > left_) return failure("incomplete", "more came than was announced");
  digest_.add(bytes);
  left_ -= bytes.size();
  inside_ += bytes.size();
  while (!bytes.empty()) {
    const auto written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return file_failure(part_path());
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  // Piece by piece: one long sync at the end would hold up the log's.
  if (inside_ < base::kWriteOutBytes) return {};
  if (!base::write_out(descriptor_, outside_, inside_)) return file_failure(part_path());
  outside_ += std::exchange(inside_, 0);
  return {};
}

base::Result<std::string> ArrivingFile::keep(std::string_view digest) {
  if (left_ > 0) return failure("incomplete", "less came than was announced");
  const auto ours = digest_.take();
  if (!base::constant_time_equal(digest, base::bytes_of(ours)))
    return failure("bad_digest", "the snapshot was damaged on the way");
  const std::string path = folder_ + "/" + name_ + std::string(kWhole);
  if (::fsync(descriptor_) != 0) return file_failure(part_path());
  if (::rename(part_path().c_str(), path.c_str()) != 0) return file_failure(path);
  ::close(std::exchange(descriptor_, -1));
  if (!sync_folder(folder_)) {
    auto why = file_failure(folder_);
    ::unlink(path.c_str());
    return why;
  }
  return path;
}

base::Result<void> ArrivingFile::prepare(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return failure("io_error", folder + ": " + error.message());
  std::filesystem::directory_iterator each(folder, error);
  for (; !error && each != std::filesystem::directory_iterator(); each.increment(error)) {
    const std::string name = each->path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kPart)) ::unlink(each->path().c_str());
  }
  if (error) return failure("io_error", folder + ": " + error.message());
  return {};
}

}  // namespace jobbie::peer
