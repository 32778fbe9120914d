// Cold start: the hot state from the database, then everything the log holds behind it.
#include <chrono>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "node/driver.hpp"
#include "node/readers.hpp"
#include "store/install.hpp"

namespace jobbie::node {
namespace {

/// Rows replayed before the store gets them: memory stays bounded however long the log is.
constexpr std::uint64_t kReplayedRows = 100'000;
constexpr std::chrono::milliseconds kReplayPatience{100};

/// The engine's port for ended jobs, answered by the store. A read that fails is no answer: the
/// engine would decide on "no such job" where other replicas, or a later replay, find one. So it is
/// noted in `broken`, and the node ends before anybody is told what came of it.
class StoredJobs final : public engine::EndedJobs {
 public:
  StoredJobs(store::Store& store, std::optional<base::Error>& broken)
      : store_(store), broken_(broken) {}
  std::optional<model::JobRecord> find(base::JobId id) override {
    return answer(store_.find_ended(id));
  }
  std::vector<model::JobRecord> dead_in_group(std::string_view group, std::uint64_t after,
                                              std::uint64_t upto, std::size_t limit) override {
    return answer(store_.dead_in_group(group, after, upto, limit));
  }

 private:
  template <typename T>
  T answer(base::Result<T> found) {
    if (found) return *std::move(found);
    if (!broken_) broken_ = found.error();
    return {};
  }

  store::Store& store_;
  std::optional<base::Error>& broken_;
};

base::Result<void> make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return {};
  return std::unexpected(
      base::Error{.code = "data_dir", .message = "cannot create " + path + ": " + error.message()});
}

/// A database that a leader has sent, between its arrival and the swap.
std::string arrived_file(const std::string& data_dir) { return data_dir + "/arrived.db"; }

std::uint64_t draw() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

Driver::Driver(const Ground& ground)
    : options_(ground.options),
      clock_(ground.clock),
      shared_(ground.shared),
      intake_(ground.intake),
      mailbox_(ground.mailbox),
      life_sign_(ground.options.data_dir),
      boot_(ground.clock.boot()),
      idle_queues_(ground.options.forget_queues_after),
      random_(draw()),
      memory_(ground.options.memory) {
  handlers_ = {
      .apply = [this](const log::Committed& entry) { apply(entry); },
      .send = [this](const consensus::MessageView& message) { send(message); },
      .configured =
          [this](const log::Configuration&, std::uint64_t) {
            if (membership_) membership_->configured();
          },
      .read = [this](std::uint64_t context, std::uint64_t index) { note_read(context, index); },
  };
}
Driver::~Driver() = default;

base::Result<std::unique_ptr<Driver>> Driver::open(const Ground& ground,
                                                   const Beginning& beginning) {
  auto driver = std::unique_ptr<Driver>(new Driver(ground));
  if (auto made = make_directory(ground.options.data_dir + "/log"); !made)
    return std::unexpected(made.error());
  driver->room_.emplace(ground.options.data_dir);
  // On a full disk the start needs a little.
  if (driver->room_->free() < kLeftByGrowth) driver->room_->release();
  // The log first: it locks the directory, so that nobody else works on the database.
  if (auto opened = driver->open_log(beginning); !opened) return std::unexpected(opened.error());
  if (auto finished = driver->finish_adoption(); !finished)
    return std::unexpected(finished.error());
  if (auto finished = driver->finish_saving(); !finished) return std::unexpected(finished.error());
  if (auto loaded = driver->load(); !loaded) return std::unexpected(loaded.error());
  if (auto replayed = driver->replay(); !replayed) return std::unexpected(replayed.error());
  return driver;
}

base::Error Driver::in_database(base::Error error) const {
  error.message = options_.data_dir + "/jobbie.db: " + error.message;
  if (error.code.starts_with("corrupt"))
    error.message += " Restore the data directory from a backup; `jobbie db check` tells more.";
  return error;
}

base::Result<void> Driver::load() {
  auto store = store::Store::open({.path = options_.data_dir + "/jobbie.db",
                                   .cache_bytes = options_.cache_bytes,
                                   .searchers = kSearchThreads});
  if (!store) return std::unexpected(in_database(store.error()));
  store_ = *std::move(store);
  ended_ = std::make_unique<StoredJobs>(*store_, broken_);
  engine::Options engine_options;
  engine_options.hash_seed = draw();
  if (store_->applied_index() == 0) {  // nothing was ever written
    engine_.emplace(*ended_, engine_options);
    return {};
  }
  engine::Loader loader(*ended_, engine_options);
  bool jobs_began = false;
  auto loaded = store_->load([&](command::Item item) -> base::Result<void> {
    if (!jobs_began && std::holds_alternative<model::JobRecord>(item)) {
      jobs_began = true;
      if (auto placed = loader.only_jobs_follow(); !placed) return placed;
    }
    return loader.add(std::move(item));
  });
  if (!loaded) return std::unexpected(in_database(loaded.error()));
  auto engine = loader.finish();
  if (!engine) return std::unexpected(in_database(engine.error()));
  engine_.emplace(*std::move(engine));
  applied_index_ = handed_index_ = store_->applied_index();
  return {};
}

base::Result<void> Driver::open_log(const Beginning& beginning) {
  disk_ = log::posix_disk();
  auto log = log::Log::open(
      *disk_, {.directory = options_.data_dir + "/log",
               .node_id = beginning.node_id,
               .founders = beginning.founders,
               .founders_index = beginning.founders_index,
               .segment_bytes = options_.segment_bytes,
               .leave_free_bytes = kLeftByGrowth,
               .seed = draw(),
               .on_synced = [this](std::int64_t us) { log_syncs_.add(us, stats::kSyncBounds); }});
  if (!log) return std::unexpected(log.error());
  log_ = *std::move(log);
  return {};
}

base::Result<void> Driver::replay() {
  if (auto started = log_->start(applied_index_); !started) return started;
  auto replaying = handlers_;
  replaying.apply = [this](const log::Committed& committed) {
    apply(committed);
    if (unhanded_rows_ < kReplayedRows && unhanded_bytes_ < options_.bounds.unstored_bytes / 2)
      return;
    hand_over();
    while (!store_->wait_until_written(handed_index_, kReplayPatience) && !store_->trouble()) {
    }
  };
  if (auto pumped = log_->pump(replaying); !pumped) return pumped;
  if (broken_) return std::unexpected(*broken_);
  last_sign_ = life_sign_.read();
  log_clock_.emplace(clock_, engine_->now(), last_sign_);
  started_at_ = log_clock_->now();
  shared_.log_time_ms = started_at_.ms;
  publish_keys();
  shared_.feed.begin(applied_index_);
  shared_.has_leader = log_->leader();
  return {};
}

/// The leader's state is durable beside ours; the log is made to begin behind it, which is the
/// point of no return; then the databases are swapped. A start that finds a crash in between goes
/// on.
base::Result<void> Driver::adopt() {
  const auto incoming = std::move(adoption_->incoming);
  adoption_.reset();
  give_everything_back();
  snapshots_.reset();
  std::error_code error;
  std::filesystem::rename(incoming.path, arrived_file(options_.data_dir), error);
  if (error)
    return std::unexpected(base::Error{
        .code = "data_dir", .message = "cannot move the leader's snapshot: " + error.message()});
  if (auto synced = disk_->sync_directory(options_.data_dir); !synced) return synced;
  if (auto adopted = log_->adopt(incoming.header); !adopted) {
    transport_->finish(incoming.token, false);
    return adopted;
  }
  if (auto closed = store_->close(); !closed) return closed;
  if (auto closed = log_->close(); !closed) return closed;
  transport_->finish(incoming.token, true);
  return {};
}

/// Where the log begins behind what the database has, a snapshot must have arrived.
base::Result<void> Driver::finish_adoption() {
  const auto arrived = arrived_file(options_.data_dir);
  if (!std::filesystem::exists(arrived)) return {};
  const auto own = store::applied_index_of(options_.data_dir + "/jobbie.db");
  const auto its = store::applied_index_of(arrived);
  const bool needed = log_->first_index() > (own ? *own : 0) + 1;
  if (needed && its && *its + 1 == log_->first_index())
    return store::install(arrived, options_.data_dir);
  std::error_code ignored;
  std::filesystem::remove(arrived, ignored);
  return {};
}

}  // namespace jobbie::node
