// The layer over a write-ahead log.
#include "store/gathered_wal.hpp"

#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace jobbie::store {
namespace {

constexpr std::size_t kGathered_bytes = 128 * 1024;
/// Of a page in the log. Bytes 4 to 7 are zero unless it is the last page of a transaction.
constexpr int kHead_bytes = 24;

/// What SQLite holds for an open log; the system's own file object follows it in memory.
struct GatheredWal {
  sqlite3_file base;
  char* gathered;           ///< owned; made at the first write
  std::size_t size;         ///< how much of it is filled
  sqlite3_int64 first;      ///< where it belongs
  sqlite3_int64 write_end;  ///< of the last write, wherever its bytes are now
  bool last_page_follows;   ///< the head of a transaction's last page was the last write
};

GatheredWal& wal_of(sqlite3_file* file) { return *reinterpret_cast<GatheredWal*>(file); }
sqlite3_file* inner_wal(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(&wal_of(file) + 1);
}
const sqlite3_io_methods& inner_methods(sqlite3_file* file) { return *inner_wal(file)->pMethods; }

/// What could not be written is forgotten: SQLite has to hear of it and roll back.
int write_gathered(sqlite3_file* file) {
  auto& self = wal_of(file);
  if (self.size == 0) return SQLITE_OK;
  const auto size = static_cast<int>(self.size);
  self.size = 0;
  return inner_methods(file).xWrite(inner_wal(file), self.gathered, size, self.first);
}

bool may_gather(GatheredWal& self, std::size_t amount) {
  if (amount > kGathered_bytes) return false;
  if (self.gathered == nullptr) self.gathered = new (std::nothrow) char[kGathered_bytes];
  return self.gathered != nullptr;
}

bool ends_transaction(std::span<const char> head) {
  static constexpr char kNone[4] = {};
  return head.size() == kHead_bytes && std::memcmp(head.data() + 4, kNone, sizeof kNone) != 0;
}

int wal_write(sqlite3_file* file, const void* buffer, int amount, sqlite3_int64 offset) {
  auto& self = wal_of(file);
  const std::span bytes(static_cast<const char*>(buffer), static_cast<std::size_t>(amount));
  // A change to what was written before is not followed by the rest of a page, so nothing of it may
  // wait.
  const bool goes_on = offset == self.write_end && may_gather(self, bytes.size());
  if (!goes_on || self.size + bytes.size() > kGathered_bytes)
    if (const int result = write_gathered(file); result != SQLITE_OK) return result;
  self.write_end = offset + amount;
  const bool complete = self.last_page_follows;
  self.last_page_follows = ends_transaction(bytes);
  if (!goes_on) return inner_methods(file).xWrite(inner_wal(file), buffer, amount, offset);
  if (self.size == 0) self.first = offset;
  std::memcpy(self.gathered + self.size, bytes.data(), bytes.size());
  self.size += bytes.size();
  return complete ? write_gathered(file) : SQLITE_OK;
}

int wal_close(sqlite3_file* file) {
  // What is left belongs to a transaction that was not completed.
  const std::unique_ptr<char[]> ended(wal_of(file).gathered);
  wal_of(file).gathered = nullptr;
  return inner_methods(file).xClose(inner_wal(file));
}
int wal_read(sqlite3_file* file, void* buffer, int amount, sqlite3_int64 offset) {
  auto& self = wal_of(file);
  self.write_end = -1;  // who reads may be about to change what it has read
  const auto end = self.first + static_cast<sqlite3_int64>(self.size);
  if (self.size > 0 && offset < end && offset + amount > self.first) {
    // After an error of this kind SQLite rolls the whole transaction back. After the one for a full
    // disk it might keep it, without what is lost here.
    if (write_gathered(file) != SQLITE_OK) return SQLITE_IOERR_WRITE;
  }
  return inner_methods(file).xRead(inner_wal(file), buffer, amount, offset);
}
int wal_truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (const int result = write_gathered(file); result != SQLITE_OK) return result;
  return inner_methods(file).xTruncate(inner_wal(file), size);
}
int wal_sync(sqlite3_file* file, int flags) {
  if (const int result = write_gathered(file); result != SQLITE_OK) return result;
  return inner_methods(file).xSync(inner_wal(file), flags);
}
int wal_size(sqlite3_file* file, sqlite3_int64* size) {
  if (const int result = write_gathered(file); result != SQLITE_OK) return result;
  return inner_methods(file).xFileSize(inner_wal(file), size);
}
int wal_lock(sqlite3_file* file, int level) {
  return inner_methods(file).xLock(inner_wal(file), level);
}
int wal_unlock(sqlite3_file* file, int level) {
  return inner_methods(file).xUnlock(inner_wal(file), level);
}
int wal_check_lock(sqlite3_file* file, int* held) {
  return inner_methods(file).xCheckReservedLock(inner_wal(file), held);
}
int wal_control(sqlite3_file* file, int what, void* value) {
  return inner_methods(file).xFileControl(inner_wal(file), what, value);
}
int wal_sector(sqlite3_file* file) { return inner_methods(file).xSectorSize(inner_wal(file)); }
int wal_traits(sqlite3_file* file) {
  return inner_methods(file).xDeviceCharacteristics(inner_wal(file));
}

// The later versions' functions share and map a main file; nobody asks a log for them.
constexpr sqlite3_io_methods kWalMethods = {
    1,        wal_close,  wal_read,       wal_write,   wal_truncate, wal_sync,   wal_size,
    wal_lock, wal_unlock, wal_check_lock, wal_control, wal_sector,   wal_traits, nullptr,
    nullptr,  nullptr,    nullptr,        nullptr,     nullptr};

}  // namespace

std::size_t gathered_wal_bytes() { return sizeof(GatheredWal); }

int open_gathered_wal(sqlite3_vfs& system, const char* name, sqlite3_file* file, int flags,
                      int* out_flags) {
  auto& self = *new (file) GatheredWal{};
  const int result = system.xOpen(&system, name, inner_wal(file), flags, out_flags);
  if (result == SQLITE_OK) self.base.pMethods = &kWalMethods;
  return result;
}

}  // namespace jobbie::store
