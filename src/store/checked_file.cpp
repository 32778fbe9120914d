// The file layer with checksums, over whatever the system's own layer is.
#include "store/checked_file.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <sqlite3.h>
#include <string_view>

#include "base/write_out.hpp"
#include "store/gathered_wal.hpp"
#include "store/read_window.hpp"

namespace jobbie::store {
namespace {

/// What SQLite holds for an open main file; the system's own file object follows it in memory.
struct CheckedFile {
  sqlite3_file base;
  bool checked;        ///< the header says that pages carry sums
  ReadWindow* window;  ///< owned; null for those who do not read ahead
  WriteOut* out;       ///< null for those who leave it to the sync
  // What was written and did not go out yet.
  sqlite3_int64 first;
  sqlite3_int64 end;
  std::size_t bytes;
};

/// What read_ahead() and write_behind() ask the file for, among the numbers that SQLite leaves to
/// others.
constexpr int kReadAhead = 0x4a'0b'b1;
constexpr int kWriteBehind = 0x4a'0b'b2;

sqlite3_vfs* system_files() { return sqlite3_vfs_find(nullptr); }

sqlite3_file* inner(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<CheckedFile*>(file) + 1);
}
const sqlite3_io_methods& methods(sqlite3_file* file) { return *inner(file)->pMethods; }

CheckedFile* self_of(sqlite3_file* file) { return reinterpret_cast<CheckedFile*>(file); }

std::uint64_t number_of(sqlite3_int64 offset) {
  return static_cast<std::uint64_t>(offset) / kPageBytes + 1;
}

bool is_page(int amount, sqlite3_int64 offset) {
  return amount == static_cast<int>(kPageBytes) &&
         offset % static_cast<sqlite3_int64>(kPageBytes) == 0;
}

/// Offsets 16 and 17 hold the page size, offset 20 the bytes left free at the end of each page.
bool header_promises_sums(const char* header) {
  return std::memcmp(header, "SQLite format 3", 16) == 0 && header[16] == 0x10 && header[17] == 0 &&
         header[20] == static_cast<char>(kPageSumBytes);
}

int file_close(sqlite3_file* file) {
  const std::unique_ptr<ReadWindow> ended(self_of(file)->window);
  self_of(file)->window = nullptr;
  return methods(file).xClose(inner(file));
}

/// Whether the page came out of the window, or with its block from the disk. If not, it is read by
/// itself, and that tells what is wrong with it.
bool read_window(sqlite3_file* file, void* buffer, std::uint64_t number) {
  ReadWindow& window = *self_of(file)->window;
  if (window.take(number, buffer)) return true;
  if (!window.missed(number)) return false;
  const std::uint64_t first = ReadWindow::first_of(number);
  const auto offset = static_cast<sqlite3_int64>((first - 1) * kPageBytes);
  if (methods(file).xRead(inner(file), window.room(), static_cast<int>(ReadWindow::kBytes),
                          offset) != SQLITE_OK)
    return false;  // the end of the file is near
  window.filled(first);
  return window.take(number, buffer);
}

int file_read(sqlite3_file* file, void* buffer, int amount, sqlite3_int64 offset) {
  auto* self = self_of(file);
  const bool page = is_page(amount, offset);
  if (page && self->checked && self->window != nullptr && offset != 0 &&
      read_window(file, buffer, number_of(offset)))
    return SQLITE_OK;
  const int result = methods(file).xRead(inner(file), buffer, amount, offset);
  if (result != SQLITE_OK) return result;
  const char* bytes = static_cast<const char*>(buffer);
  if (offset == 0 && amount >= 24) self->checked = header_promises_sums(bytes);
  if (self->checked && page && !is_sound(bytes, number_of(offset))) return SQLITE_IOERR_DATA;
  return SQLITE_OK;
}

void send_out(CheckedFile& self) {
  if (self.bytes == 0) return;
  self.out->range(static_cast<std::uint64_t>(self.first),
                  static_cast<std::uint64_t>(self.end - self.first));
  self.bytes = 0;
}

void note_written(CheckedFile& self, int amount, sqlite3_int64 offset) {
  if (self.out == nullptr) return;
  const auto end = offset + amount;
  self.first = self.bytes == 0 ? offset : std::min(self.first, offset);
  self.end = self.bytes == 0 ? end : std::max(self.end, end);
  self.bytes += static_cast<std::size_t>(amount);
  if (self.bytes >= base::kWriteOutBytes) send_out(self);
}

int write_page(sqlite3_file* file, const void* buffer, int amount, sqlite3_int64 offset) {
  auto* self = self_of(file);
  const char* bytes = static_cast<const char*>(buffer);
  if (offset == 0 && amount >= 24) self->checked = header_promises_sums(bytes);
  if (!self->checked || !is_page(amount, offset))
    return methods(file).xWrite(inner(file), buffer, amount, offset);
  std::array<char, kPageBytes> page;
  std::memcpy(page.data(), bytes, kPageBytes - kPageSumBytes);
  const auto sum = page_sum(page.data(), number_of(offset));
  std::memcpy(page.data() + kPageBytes - kPageSumBytes, &sum, kPageSumBytes);
  return methods(file).xWrite(inner(file), page.data(), amount, offset);
}

int file_write(sqlite3_file* file, const void* buffer, int amount, sqlite3_int64 offset) {
  const int result = write_page(file, buffer, amount, offset);
  if (result == SQLITE_OK) note_written(*self_of(file), amount, offset);
  return result;
}

int file_truncate(sqlite3_file* file, sqlite3_int64 size) {
  return methods(file).xTruncate(inner(file), size);
}
int file_sync(sqlite3_file* file, int flags) {
  send_out(*self_of(file));
  // The system tells some failures only to the one who began the write.
  if (self_of(file)->out != nullptr && self_of(file)->out->has_failed()) return SQLITE_IOERR_FSYNC;
  return methods(file).xSync(inner(file), flags);
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return methods(file).xFileSize(inner(file), size);
}
/// What was read under other locks may have changed since.
void locks_change(sqlite3_file* file) {
  if (self_of(file)->window != nullptr) self_of(file)->window->forget();
}
int file_lock(sqlite3_file* file, int level) {
  locks_change(file);
  return methods(file).xLock(inner(file), level);
}
int file_unlock(sqlite3_file* file, int level) {
  locks_change(file);
  return methods(file).xUnlock(inner(file), level);
}
int file_check_lock(sqlite3_file* file, int* held) {
  return methods(file).xCheckReservedLock(inner(file), held);
}
int file_control(sqlite3_file* file, int what, void* value) {
  if (what == kReadAhead) {
    if (self_of(file)->window == nullptr)
      self_of(file)->window = std::make_unique<ReadWindow>().release();
    return SQLITE_OK;
  }
  if (what == kWriteBehind) {
    self_of(file)->out = static_cast<WriteOut*>(value);
    return SQLITE_OK;
  }
  return methods(file).xFileControl(inner(file), what, value);
}
int file_sector(sqlite3_file* file) { return methods(file).xSectorSize(inner(file)); }
int file_traits(sqlite3_file* file) { return methods(file).xDeviceCharacteristics(inner(file)); }
int file_shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  return methods(file).xShmMap(inner(file), page, size, extend, out);
}
int file_shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  locks_change(file);
  return methods(file).xShmLock(inner(file), offset, count, flags);
}
void file_shm_barrier(sqlite3_file* file) { methods(file).xShmBarrier(inner(file)); }
int file_shm_unmap(sqlite3_file* file, int remove) {
  return methods(file).xShmUnmap(inner(file), remove);
}
// Mapped memory would pass the checksums by.
int file_fetch(sqlite3_file*, sqlite3_int64, int, void** out) {
  *out = nullptr;
  return SQLITE_OK;
}
int file_unfetch(sqlite3_file*, sqlite3_int64, void*) { return SQLITE_OK; }

constexpr sqlite3_io_methods kCheckedMethods = {
    3,           file_close,   file_read,     file_write,       file_truncate,  file_sync,
    file_size,   file_lock,    file_unlock,   file_check_lock,  file_control,   file_sector,
    file_traits, file_shm_map, file_shm_lock, file_shm_barrier, file_shm_unmap, file_fetch,
    file_unfetch};

int vfs_open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* system = system_files();
  if ((flags & SQLITE_OPEN_WAL) != 0)
    return open_gathered_wal(*system, name, file, flags, out_flags);
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0)
    return system->xOpen(system, name, file, flags, out_flags);
  auto* self = self_of(file);
  self->base.pMethods = nullptr;
  self->checked = false;
  self->window = nullptr;
  self->out = nullptr;
  self->bytes = 0;
  const int result = system->xOpen(system, name, inner(file), flags, out_flags);
  if (result == SQLITE_OK) self->base.pMethods = &kCheckedMethods;
  return result;
}

int vfs_delete(sqlite3_vfs*, const char* name, int sync) {
  return system_files()->xDelete(system_files(), name, sync);
}
int vfs_access(sqlite3_vfs*, const char* name, int flags, int* out) {
  return system_files()->xAccess(system_files(), name, flags, out);
}
int vfs_full_name(sqlite3_vfs*, const char* name, int size, char* out) {
  return system_files()->xFullPathname(system_files(), name, size, out);
}
int vfs_randomness(sqlite3_vfs*, int size, char* out) {
  return system_files()->xRandomness(system_files(), size, out);
}
int vfs_sleep(sqlite3_vfs*, int microseconds) {
  return system_files()->xSleep(system_files(), microseconds);
}
int vfs_time(sqlite3_vfs*, double* out) {
  return system_files()->xCurrentTime(system_files(), out);
}
int vfs_last_error(sqlite3_vfs*, int size, char* out) {
  return system_files()->xGetLastError(system_files(), size, out);
}
int vfs_time64(sqlite3_vfs*, sqlite3_int64* out) {
  return system_files()->xCurrentTimeInt64(system_files(), out);
}

sqlite3_vfs make_vfs() {
  sqlite3_vfs vfs{};
  vfs.iVersion = 2;
  vfs.szOsFile = static_cast<int>(std::max(sizeof(CheckedFile), gathered_wal_bytes())) +
                 system_files()->szOsFile;
  vfs.mxPathname = system_files()->mxPathname;
  vfs.zName = "jobbie";
  vfs.xOpen = vfs_open;
  vfs.xDelete = vfs_delete;
  vfs.xAccess = vfs_access;
  vfs.xFullPathname = vfs_full_name;
  vfs.xRandomness = vfs_randomness;
  vfs.xSleep = vfs_sleep;
  vfs.xCurrentTime = vfs_time;
  vfs.xGetLastError = vfs_last_error;
  vfs.xCurrentTimeInt64 = vfs_time64;
  return vfs;
}

}  // namespace

const char* checked_files() {
  // Its count of memory in use costs a lock at every allocation, and nobody reads it. Refused once
  // SQLite is in use, which does no harm.
  static const int uncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(uncounted);
  // SQLite keeps a pointer to it for the rest of the process.
  static sqlite3_vfs vfs = make_vfs();
  static const int registered = sqlite3_vfs_register(&vfs, 0);
  return registered == SQLITE_OK ? vfs.zName : nullptr;
}

base::Result<void> begin_checksums(Connection& connection) {
  int bytes = static_cast<int>(kPageSumBytes);
  if (sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes) !=
      SQLITE_OK)
    return std::unexpected(connection.error());
  return {};
}

bool has_checksums(Connection& connection) {
  int bytes = -1;  // asks and changes nothing
  return sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes) ==
             SQLITE_OK &&
         bytes == static_cast<int>(kPageSumBytes);
}

void write_behind(Connection& connection, WriteOut& out) {
  sqlite3_file_control(connection.handle(), "main", kWriteBehind, &out);
}

void read_ahead(Connection& connection) {
  sqlite3_file_control(connection.handle(), "main", kReadAhead, nullptr);
}

}  // namespace jobbie::store
