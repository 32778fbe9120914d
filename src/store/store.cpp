// The parts of the store put together, and its lookups.
#include "store/store.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "store/access_rows.hpp"
#include "store/checkpointer.hpp"
#include "store/copy.hpp"
#include "store/overlay.hpp"
#include "store/reader.hpp"
#include "store/schema.hpp"
#include "store/searcher.hpp"
#include "store/trouble.hpp"
#include "store/watch_rows.hpp"
#include "store/webhook_rows.hpp"
#include "store/writer.hpp"

namespace jobbie::store {
namespace {

/// Dead jobs read from the file at a time.
constexpr std::size_t kDeadPage = 1'000;
/// Half of what a node lets wait for the file: larger hand-overs would hold it up for longer.
constexpr std::uint64_t kLittleLeft_rows = 100'000;

}  // namespace

/// Members end in reverse order: the threads before what they use.
class Store::Impl {
 public:
  base::Result<void> open(const Options& options);
  base::Result<void> load(const std::function<base::Result<void>(command::Item)>& sink);
  base::Result<void> close();
  base::Result<std::optional<model::JobRecord>> lookup(
      base::JobId id, const std::function<void(const std::function<void(Reader&)>&)>& with);
  base::Result<std::optional<model::JobRecord>> job(base::JobId id);
  base::Result<std::optional<model::JobRecord>> find_ended(base::JobId id);
  base::Result<std::optional<model::BatchRecord>> batch(base::BatchId id);
  base::Result<std::vector<model::JobRecord>> dead_in_group(std::string_view group,
                                                            std::uint64_t after, std::uint64_t upto,
                                                            std::size_t limit);

  std::string path;
  std::optional<WriteOut> file;  ///< before all connections: it must outlive them
  std::optional<NamedFile> main_name;
  std::optional<NamedFile> wal_name;
  std::uint64_t last_index = 0;  ///< handed over
  TroubleBox trouble;
  Overlay overlay;
  std::optional<Reader> node_reader;
  ReaderPool readers;
  SearcherPool searchers;
  std::chrono::milliseconds search_time{};
  Checkpointer checkpointer{trouble};
  Writer writer{overlay, checkpointer, trouble};

  [[nodiscard]] bool in_place() const { return main_name->in_place() && wal_name->in_place(); }
  static base::Error gone() {
    return {.code = std::string(kDatabaseGone),
            .message = "The files of the database were removed or replaced."};
  }
  base::Result<void> save(const std::string& to);

  /// Asks a searcher; what stands in the way is kept as trouble.
  template <typename T, typename Ask>
  base::Result<T> ask(Ask&& question) {
    auto result = searchers.with<T>(std::forward<Ask>(question));
    if (!result && result.error().code != kSearchTooSlow && result.error().code != kCancelled)
      note_read_error(result.error());
    if (result) trouble.clear(TroubleBox::Source::reader);  // what has passed has passed
    // It may have been opened just now, by a name that stands for something else.
    if (result && !in_place()) return std::unexpected(gone());
    return result;
  }
  /// The same by statements of the caller's own: `read` is given a connection.
  template <typename T, typename Read>
  base::Result<T> ask_within(const IsCancelled& is_cancelled, Read&& read) {
    return ask<T>([&](Searcher& searcher) -> base::Result<T> {
      base::Result<T> found;
      auto done =
          searcher.within(bounds(is_cancelled), [&](Connection& connection) -> base::Result<void> {
            found = read(connection);
            if (!found) return std::unexpected(found.error());
            return {};
          });
      if (!done) return std::unexpected(std::move(done).error());
      return found;
    });
  }
  [[nodiscard]] SearchBounds bounds(const IsCancelled& is_cancelled) const {
    return {.at_most = search_time, .is_cancelled = is_cancelled};
  }

 private:
  using Rows = std::vector<std::pair<model::JobRecord, std::uint64_t>>;
  base::Result<Rows> dead_page(std::string_view group, std::uint64_t after, std::uint64_t upto);
  void note_read_error(base::Error error) {
    trouble.set(TroubleBox::Source::reader, std::move(error));
  }
};

base::Result<void> Store::Impl::open(const Options& options) {
  path = options.path;
  auto connection = open_database(path, options.cache_bytes);
  if (!connection) return std::unexpected(std::move(connection).error());
  // What a dead process left in the write-ahead log is perhaps not synced: now it is. On a full
  // disk it stays there, and nothing is called durable before a later run has succeeded.
  const auto synced = connection->checkpoint_all();
  if (!synced && synced.error().code != kDiskFull) return synced;
  auto state = read_file_state(*connection);
  if (!state) return std::unexpected(std::move(state).error());
  auto sweeps = read_sweeps(*connection);
  if (!sweeps) return std::unexpected(std::move(sweeps).error());
  last_index = state->applied_index;
  overlay.begin({.number = state->writes,
                 .now = state->meta ? state->meta->now : base::Instant{},
                 .sweeps = *std::move(sweeps)});
  const auto reader_cache = options.cache_bytes / 4;
  auto reader = Reader::open(path, reader_cache);
  if (!reader) return std::unexpected(std::move(reader).error());
  node_reader.emplace(*std::move(reader));
  if (auto opened = readers.open(path, std::max<std::size_t>(1, options.readers), reader_cache);
      !opened)
    return opened;
  search_time = options.search_time;
  searchers.begin(path, std::max<std::size_t>(1, options.searchers), reader_cache);
  file.emplace(path);
  main_name.emplace(path);
  wal_name.emplace(path + "-wal");
  if (auto started = checkpointer.start({.path = path,
                                         .file = *file,
                                         .interval = options.checkpoint_every,
                                         .index = state->applied_index,
                                         .durable = synced ? state->applied_index : 0,
                                         .in_place = [this] { return in_place(); }});
      !started)
    return started;
  writer.set_max_pages(options.max_pages);
  return writer.start(*std::move(connection),
                      {.applied_index = state->applied_index, .on_written = options.on_written});
}

base::Result<void> Store::Impl::load(const std::function<base::Result<void>(command::Item)>& sink) {
  auto connection = Connection::open(path, Access::read_only, std::size_t{8} << 20);
  if (!connection) return std::unexpected(std::move(connection).error());
  // One state of the file, whatever the sweeper does meanwhile.
  if (auto begun = connection->exec("BEGIN"); !begun) return begun;
  return load_items(*connection, sink);
}

base::Result<void> Store::Impl::close() {
  const bool written = writer.finish();
  checkpointer.stop();
  node_reader.reset();
  readers.close();
  searchers.close();
  if (!written)
    return std::unexpected(trouble.get().value_or(
        base::Error{.code = std::string(kDatabaseError), .message = "Not everything is written."}));
  if (trouble.lasts(TroubleBox::Source::checkpointer)) return std::unexpected(*trouble.get());
  if (auto synced = writer.connection().checkpoint_all(); !synced) return synced;
  checkpointer.set_durable(writer.written_index());
  writer.connection() = {};
  return {};
}

base::Result<void> Store::Impl::save(const std::string& to) {
  // What it cannot write is left to the log.
  static_cast<void>(writer.finish());
  checkpointer.stop();
  auto copied = copy_database(writer.connection(), to);
  if (!copied) return std::unexpected(std::move(copied).error());
  return {};
}

base::Result<std::optional<model::JobRecord>> Store::Impl::lookup(
    base::JobId id, const std::function<void(const std::function<void(Reader&)>&)>& with) {
  auto found = overlay.job(id);
  if (found.known) return std::move(found.record);
  base::Result<std::optional<JobRow>> row;
  with([&](Reader& reader) { row = reader.job(id); });
  if (!row) {
    note_read_error(row.error());
    return std::unexpected(std::move(row).error());
  }
  if (!*row || is_hidden(*found.sweeps, (*row)->job, (*row)->revision)) return std::nullopt;
  return std::move((*row)->job);
}

base::Result<std::optional<model::JobRecord>> Store::Impl::job(base::JobId id) {
  return lookup(id, [&](const auto& use) { readers.with(use); });
}

base::Result<std::optional<model::JobRecord>> Store::Impl::find_ended(base::JobId id) {
  auto job = lookup(id, [&](const auto& use) { use(*node_reader); });
  if (job && *job && !model::has_ended((*job)->state)) return std::nullopt;
  return job;
}

base::Result<std::optional<model::BatchRecord>> Store::Impl::batch(base::BatchId id) {
  auto found = overlay.batch(id);
  if (found.known) return std::move(found.record);
  base::Result<std::optional<model::BatchRecord>> row;
  readers.with([&](Reader& reader) { row = reader.batch(id); });
  if (!row) {
    note_read_error(row.error());
    return std::unexpected(std::move(row).error());
  }
  if (!*row || is_expired(**row, found.now)) return std::nullopt;
  return *std::move(row);
}

/// One page of the file's rows, read while the overlay dropped nothing: it then holds every newer
/// version that the read could not see.
base::Result<Store::Impl::Rows> Store::Impl::dead_page(std::string_view group, std::uint64_t after,
                                                       std::uint64_t upto) {
  // Drops come once a transaction, so another round is rare and a third nearly unheard of.
  for (;;) {
    const auto drops = overlay.drops();
    auto rows = node_reader->dead_in_group(group, after, upto, kDeadPage);
    if (!rows) {
      note_read_error(rows.error());
      return std::unexpected(std::move(rows).error());
    }
    const auto superseded = overlay.superseded(*rows);
    if (overlay.drops() != drops) continue;
    // What does not count keeps its place, for the caller's next page; revision zero marks it.
    for (std::size_t i = 0; i < rows->size(); ++i) (*rows)[i].second = superseded[i] ? 0 : 1;
    return *std::move(rows);
  }
}

base::Result<std::vector<model::JobRecord>> Store::Impl::dead_in_group(std::string_view group,
                                                                       std::uint64_t after,
                                                                       std::uint64_t upto,
                                                                       std::size_t limit) {
  if (group.empty() || after >= upto || limit == 0) return {};
  auto out = overlay.dead_in_group(group, after, upto, limit);
  const auto by_seq = [](const auto& a, const auto& b) {
    return a.id.sequence() < b.id.sequence();
  };
  std::size_t from_file = 0;
  for (;;) {
    auto page = dead_page(group, after, upto);
    if (!page) return std::unexpected(std::move(page).error());
    for (auto& [job, counts] : *page) {
      after = job.id.sequence();
      const bool known = std::binary_search(
          out.begin(), out.end() - static_cast<std::ptrdiff_t>(from_file), job, by_seq);
      if (counts == 0 || known) continue;
      out.push_back(std::move(job));
      if (++from_file == limit) break;
    }
    if (page->size() < kDeadPage || from_file == limit) break;
  }
  std::sort(out.begin(), out.end(), by_seq);
  if (out.size() > limit) out.resize(limit);
  return out;
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

base::Result<std::unique_ptr<Store>> Store::open(const Options& options) {
  auto impl = std::make_unique<Impl>();
  if (auto opened = impl->open(options); !opened) return std::unexpected(std::move(opened).error());
  return std::unique_ptr<Store>(new Store(std::move(impl)));
}

base::Result<void> Store::load(const std::function<base::Result<void>(command::Item)>& sink) {
  return impl_->load(sink);
}

void Store::write(std::uint64_t index, command::Changes changes) {
  JOBBIE_CHECK(index >= impl_->last_index);
  impl_->last_index = index;
  impl_->overlay.add(index, std::move(changes));
}

Store::Lag Store::lag() const {
  const auto lag = impl_->overlay.lag();
  return {.rows = lag.rows, .bytes = lag.bytes, .batches = lag.batches};
}

bool Store::wants_more() const {
  return impl_->overlay.lag().rows <= impl_->writer.rows_under_way() + kLittleLeft_rows;
}

std::uint64_t Store::written_index() const { return impl_->writer.written_index(); }
std::uint64_t Store::durable_index() const { return impl_->checkpointer.durable_index(); }

bool Store::wait_until_written(std::uint64_t index, std::chrono::milliseconds timeout) {
  return impl_->writer.wait_until_written(index, timeout);
}

void Store::request_checkpoint() { impl_->checkpointer.request(); }

void Store::set_max_pages(std::uint64_t pages) { impl_->writer.set_max_pages(pages); }

base::Result<std::optional<model::JobRecord>> Store::find_ended(base::JobId id) {
  return impl_->find_ended(id);
}

base::Result<std::vector<model::JobRecord>> Store::dead_in_group(std::string_view group,
                                                                 std::uint64_t after,
                                                                 std::uint64_t upto,
                                                                 std::size_t limit) {
  return impl_->dead_in_group(group, after, upto, limit);
}

base::Result<std::optional<model::JobRecord>> Store::job(base::JobId id) { return impl_->job(id); }
base::Result<std::optional<model::BatchRecord>> Store::batch(base::BatchId id) {
  return impl_->batch(id);
}
base::Result<model::LogPage> Store::job_log(base::JobId id, std::uint64_t after, std::size_t limit,
                                            const IsCancelled& is_cancelled) {
  return impl_->ask_within<model::LogPage>(
      is_cancelled, [&](Connection& connection) { return read_log(connection, id, after, limit); });
}
base::Result<bool> Store::failures(std::string_view queue, std::size_t limit,
                                   const std::function<void(Failure)>& sink,
                                   const IsCancelled& is_cancelled) {
  return impl_->ask_within<bool>(is_cancelled, [&](Connection& connection) {
    return read_failures(connection, queue, limit, sink);
  });
}
base::Result<search::Page> Store::search(const search::Request& request,
                                         const IsCancelled& is_cancelled) {
  return impl_->ask<search::Page>(
      [&](Searcher& searcher) { return searcher.search(request, impl_->bounds(is_cancelled)); });
}
base::Result<std::vector<base::JobId>> Store::slice(const search::Filter& filter,
                                                    const SliceOptions& options,
                                                    const IsCancelled& is_cancelled) {
  return impl_->ask<std::vector<base::JobId>>([&](Searcher& searcher) {
    return searcher.slice(filter, options.after, options.upto, options.limit,
                          impl_->bounds(is_cancelled));
  });
}
base::Result<Store::Count> Store::count(const search::Filter& filter,
                                        const IsCancelled& is_cancelled) {
  return impl_->ask<Count>(
      [&](Searcher& searcher) { return searcher.count(filter, impl_->bounds(is_cancelled)); });
}
base::Result<std::vector<model::BatchRecord>> Store::batches(std::optional<bool> finished,
                                                             std::uint64_t before,
                                                             std::size_t limit,
                                                             const IsCancelled& is_cancelled) {
  return impl_->ask<std::vector<model::BatchRecord>>([&](Searcher& searcher) {
    return searcher.batches(finished, before, limit, impl_->bounds(is_cancelled));
  });
}
base::Result<std::vector<std::pair<std::uint64_t, model::AuditRecord>>> Store::audit(
    const AuditWanted& wanted, const IsCancelled& is_cancelled) {
  return impl_->ask_within<std::vector<std::pair<std::uint64_t, model::AuditRecord>>>(
      is_cancelled, [&](Connection& connection) { return read_audit(connection, wanted); });
}
base::Result<std::vector<model::DeliveryRecord>> Store::deliveries(
    const DeliveriesWanted& wanted, const IsCancelled& is_cancelled) {
  return impl_->ask_within<std::vector<model::DeliveryRecord>>(
      is_cancelled, [&](Connection& connection) { return read_deliveries(connection, wanted); });
}
base::Result<std::optional<model::DeliveryRecord>> Store::delivery(base::DeliveryId id) {
  base::Result<std::optional<model::DeliveryRecord>> row;
  impl_->readers.with([&](Reader& reader) { row = read_delivery(reader.connection(), id); });
  if (!row) impl_->trouble.set(TroubleBox::Source::reader, row.error());
  return row;
}
base::Result<Copied> Store::copy_to(const std::string& path, const std::atomic<bool>& cancelled,
                                    const std::function<void(const CopyProgress&)>& progress) {
  auto copied = copy_database(impl_->path, path, cancelled, progress);
  if (!copied || impl_->in_place()) return copied;
  static_cast<void>(remove_file(path).has_value());
  return std::unexpected(Impl::gone());
}
base::Result<void> Store::room_for_copy(const std::string& path) const {
  return store::room_for_copy(impl_->writer.file_pages(), path);
}
FileSpace Store::file_space() const {
  return {.file_bytes = file_bytes(impl_->path),
          .pages = impl_->writer.file_pages(),
          .wal_bytes = file_bytes(impl_->path + "-wal"),
          .wal_pages = impl_->writer.wal_pages()};
}
bool Store::files_in_place() const { return impl_->in_place(); }
base::Result<void> Store::save(const std::string& path) { return impl_->save(path); }
base::Result<void> Store::put_others_aside() {
  const std::pair<const NamedFile*, const char*> names[] = {{&*impl_->main_name, ""},
                                                            {&*impl_->wal_name, "-wal"}};
  for (const auto& [name, suffix] : names) {
    const auto path = impl_->path + suffix;
    if (name->in_place() || !file_exists(path)) continue;
    if (auto moved = rename_file(path, impl_->path + ".replaced" + suffix); !moved) return moved;
  }
  return {};
}
bool Store::is_damaged() const { return impl_->trouble.is_damaged(); }
std::optional<base::Error> Store::trouble() const { return impl_->trouble.get(); }
base::Result<void> Store::close() { return impl_->close(); }

}  // namespace jobbie::store
