// The files of snapshots, with their digests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/digest.hpp"
#include "base/result.hpp"

struct evp_md_ctx_st;

namespace jobbie::peer {

/// SHA-256 of bytes that come in pieces.
class Digest {
 public:
  Digest();
  void add(std::string_view bytes);
  /// Ends it.
  [[nodiscard]] base::Sha256 take();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

/// A file that is being sent: as long as it was when it was opened.
class OutgoingFile {
 public:
  static base::Result<OutgoingFile> open(const std::string& path);
  OutgoingFile(OutgoingFile&& other) noexcept;
  OutgoingFile& operator=(OutgoingFile&&) = delete;
  ~OutgoingFile();

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t left() const { return left_; }
  /// The next bytes, at most as many as fit; `io_error` also if the file has become shorter.
  base::Result<std::string_view> read(std::span<char> buffer);
  [[nodiscard]] base::Sha256 digest() { return digest_.take(); }

 private:
  OutgoingFile(int descriptor, std::uint64_t bytes);
  int descriptor_;
  std::uint64_t bytes_;
  std::uint64_t left_;
  Digest digest_;
};

/// A file that is arriving. It has a name that shows it until keep(), and is removed unless kept.
class ArrivingFile {
 public:
  /// Refused with `disk_full` where so many bytes do not fit.
  static base::Result<ArrivingFile> create(const std::string& folder, std::uint64_t bytes);
  ArrivingFile(ArrivingFile&& other) noexcept;
  ArrivingFile& operator=(ArrivingFile&&) = delete;
  ~ArrivingFile();

  base::Result<void> write(std::string_view bytes);
  /// Compares, syncs, renames; gives the final path. Errors: `incomplete`, `bad_digest`,
  /// `io_error`.
  base::Result<std::string> keep(std::string_view digest);

  /// Removes what earlier lives of the process left half-arrived, and makes the folder.
  static base::Result<void> prepare(const std::string& folder);

 private:
  ArrivingFile(int descriptor, std::string folder, std::string name, std::uint64_t bytes);
  [[nodiscard]] std::string part_path() const;

  int descriptor_;
  std::string folder_;
  std::string name_;  ///< without what tells a part from a whole
  std::uint64_t left_;
  std::uint64_t outside_ = 0;  ///< bytes on their way to the disk …
  std::uint64_t inside_ = 0;   ///< … and behind them those in memory alone
  Digest digest_;
};

}  // namespace jobbie::peer
