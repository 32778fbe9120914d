// The reckoning behind the bound.
#include "store/space.hpp"

#include <algorithm>

#include "store/checkpointer.hpp"
#include "store/page_sums.hpp"
#include "store/writer.hpp"

namespace jobbie::store {
namespace {

/// A page in the write-ahead log has a head of 24 bytes.
constexpr std::uint64_t kFrameBytes = kPageBytes + 24;
/// A row that changes: its own page, a page to leave and one to enter in each of three indexes, and
/// one for its errors.
constexpr std::uint64_t kPagesOfChange = 8;
/// A new row: the end of the table and a page of each index.
constexpr std::uint64_t kPagesOfNew = 4;
/// Entries of indexes, with names of 128 bytes at most, in pages that are two thirds full.
constexpr std::uint64_t kIndexBytes = 512;
/// The index of the write-ahead log, in memory that is a file too: 32 KiB for 4,096 pages.
constexpr std::uint64_t kIndexShare = 512;
constexpr std::uint64_t kIndexLeast = 64 * 1024;

constexpr std::uint64_t above(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

}  // namespace

std::uint64_t space_needed(const FileSpace& files, const Unwritten& changed,
                           const Unwritten& added) {
  const auto rows = changed.rows + added.rows;
  const auto bytes = changed.bytes + added.bytes;
  // Pages are not filled to the last byte.
  const auto growth = bytes + bytes / 8 + rows * kIndexBytes;
  const auto not_copied = above(files.pages * kPageBytes, files.file_bytes);
  const auto new_pages = growth / kPageBytes + 1;
  const auto touched = changed.rows * kPagesOfChange + added.rows * kPagesOfNew + new_pages;
  // A transaction has each page of the file once at most.
  const auto most_at_once = std::min(touched, files.pages + new_pages);
  const auto transactions = rows / kRowsPerTransaction + 1;
  const auto in_wal = std::min(files.wal_pages + std::min(touched, transactions * most_at_once),
                               std::uint64_t{kMaxWalPages} + most_at_once);
  const auto wal = above(in_wal * kFrameBytes, files.wal_bytes);
  return not_copied + growth + wal + wal / kIndexShare + kIndexLeast;
}

}  // namespace jobbie::store
