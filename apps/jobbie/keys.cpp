// Files in, commands out.
#include "keys.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "call/desk.hpp"
#include "command/validate.hpp"
#include "face/secret.hpp"

namespace jobbie::app {
namespace {

using base::Blob;
using base::Level;
using call::Desk;

/// A secret that somebody thought of has at least this many characters.
constexpr std::size_t kLeastSecret = 20;
constexpr std::size_t kMostFileBytes = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kLook{500};

base::Error bad(std::string message) { return {.code = "bad_keys", .message = std::move(message)}; }

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(by);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// Queue names may have colons: the secret is what follows the last one.
base::Result<model::KeySpec> parse_line(std::string_view line) {
  const auto first = line.find(':');
  const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
  const auto last = line.rfind(':');
  if (second == std::string_view::npos || last <= second)
    return std::unexpected(bad("a key is name:scopes:queues:secret"));
  model::KeySpec key{.name = Blob(trim(line.substr(0, first)))};
  for (const auto word : split(line.substr(first + 1, second - first - 1), ',')) {
    const auto* const found =
        std::find(model::kScopeNames.begin(), model::kScopeNames.end(), trim(word));
    if (found == model::kScopeNames.end())
      return std::unexpected(bad(fmt::format("\"{}\" is no scope", trim(word))));
    key.scopes |= 1U << static_cast<unsigned>(found - model::kScopeNames.begin());
  }
  for (const auto word : split(line.substr(second + 1, last - second - 1), ','))
    if (!trim(word).empty()) key.queues.emplace_back(trim(word));
  if (key.queues.empty()) key.queues.emplace_back("*");
  const bool admin = (key.scopes & model::scope_bit(model::Scope::admin)) != 0;
  const auto everything = [](const Blob& glob) { return glob.view() == "*"; };
  if (admin && std::none_of(key.queues.begin(), key.queues.end(), everything))
    return std::unexpected(bad("a key with the scope admin is for all queues"));
  const auto secret = trim(line.substr(last + 1));
  if (secret.size() < kLeastSecret)
    return std::unexpected(bad(fmt::format("a secret has at least {} characters", kLeastSecret)));
  face::keep_secret(secret, key);
  if (const auto refusal = command::validate(command::CreateKey{.key = key, .replace = true}))
    return std::unexpected(bad(refusal->message));
  return key;
}

base::Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::unexpected(bad(path + ": " + std::strerror(errno)));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (text.size() > kMostFileBytes) return std::unexpected(bad(path + " is too large for keys"));
  return text;
}

/// Only its owner may read it, from the moment it exists.
base::Result<void> write_private(const std::string& path, std::string_view text) {
  const auto failed = [&] {
    return std::unexpected(bad(fmt::format("cannot write {}: {}", path, std::strerror(errno))));
  };
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return failed();
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd) == 0;
  ::close(fd);
  if (!written || ::rename(fresh.c_str(), path.c_str()) != 0) return failed();
  return {};
}

base::Result<std::vector<model::KeyRecord>> keys_of(Desk& desk) {
  auto question = desk.make();
  question->query = call::KeysQuery{};
  const auto back = desk.ask(std::move(question));
  auto* page = std::get_if<call::KeyPage>(&back->answer);
  if (page == nullptr) return std::unexpected(bad("the keys there are cannot be read"));
  return std::move(page->rows);
}

base::Result<void> create(Desk& desk, const model::KeySpec& key) {
  auto wish = desk.make();
  wish->commands.emplace_back(command::CreateKey{.key = key, .replace = true});
  wish->audit = command::RecordAction{
      .name = Blob("server"), .action = Blob("key.create"), .target = key.name};
  const auto back = desk.ask(std::move(wish));
  if (back->trouble != call::Trouble::none || back->replies.empty())
    return std::unexpected(bad("a key cannot be written now"));
  if (const auto* refusal = std::get_if<command::Refusal>(&back->replies.front()))
    return std::unexpected(bad(fmt::format("key \"{}\": {}", key.name.view(), refusal->message)));
  return {};
}

base::Result<void> take_file(Desk& desk, const Settings& settings, base::Journal& journal) {
  const auto text = read_file(settings.auth_keys_file);
  if (!text) return std::unexpected(text.error());
  const auto wanted = parse_keys(*text);
  if (!wanted) return std::unexpected(bad(settings.auth_keys_file + ": " + wanted.error().message));
  const auto known = keys_of(desk);
  if (!known) return std::unexpected(known.error());
  std::uint64_t changed = 0;
  for (const auto& key : *wanted) {
    const auto same = [&](const model::KeyRecord& record) { return record.spec == key; };
    if (std::any_of(known->begin(), known->end(), same)) continue;
    if (auto made = create(desk, key); !made) return made;
    ++changed;
  }
  journal.write(Level::info, "keys_read",
                {{"file", std::string_view(settings.auth_keys_file)},
                 {"keys", std::uint64_t{wanted->size()}},
                 {"changed", changed}});
  return {};
}

base::Result<void> make_first_key(Desk& desk, const Settings& settings, base::Journal& journal) {
  const auto known = keys_of(desk);
  if (!known) return std::unexpected(known.error());
  const auto is_admin = [](const model::KeyRecord& key) {
    return (key.spec.scopes & model::scope_bit(model::Scope::admin)) != 0;
  };
  if (std::any_of(known->begin(), known->end(), is_admin)) return {};
  const auto secret = face::make_secret();
  model::KeySpec key{
      .name = Blob("first admin"), .scopes = model::scope_bit(model::Scope::admin), .queues = {}};
  key.queues.emplace_back("*");
  face::keep_secret(secret, key);
  // The file first: a key that nobody was told of would be of no use.
  const std::string path = settings.data_dir + "/admin.key";
  if (auto written = write_private(path, secret + "\n"); !written) return written;
  if (auto made = create(desk, key); !made) return made;
  journal.write(Level::warning, "admin_key_made",
                {{"file", std::string_view(path)},
                 {"message", std::string_view("There was no admin key. One has been made; its "
                                              "secret is in this file, which only its owner may "
                                              "read.")}});
  return {};
}

}  // namespace

base::Result<std::vector<model::KeySpec>> parse_keys(std::string_view text) {
  base::Result<std::vector<model::KeySpec>> keys;
  std::size_t number = 0;
  for (const auto raw : split(text, '\n')) {
    ++number;
    const auto line = trim(raw);
    if (line.empty() || line.front() == '#') continue;
    auto key = parse_line(line);
    if (!key) return std::unexpected(bad(fmt::format("line {}: {}", number, key.error().message)));
    const auto clashes = [&](const model::KeySpec& other) {
      return other.name == key->name || other.digest == key->digest;
    };
    if (std::any_of(keys->begin(), keys->end(), clashes))
      return std::unexpected(
          bad(fmt::format("line {}: this name or this secret stands above already", number)));
    keys->push_back(*std::move(key));
  }
  return keys;
}

base::Result<void> prepare_keys(call::Service& service, const Settings& settings,
                                base::Journal& journal) {
  Desk desk(service);
  if (!settings.auth_keys_file.empty())
    if (auto taken = take_file(desk, settings, journal); !taken) return taken;
  if (!settings.auth) return {};
  return make_first_key(desk, settings, journal);
}

KeyKeeper::KeyKeeper(call::Service& service, const Settings& settings, base::Journal& journal)
    : service_(service), settings_(settings), journal_(journal) {
  if (settings.auth) thread_ = std::thread([this] { run(); });
}

KeyKeeper::~KeyKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void KeyKeeper::run() {
  std::uint64_t prepared_term = 0;
  while (true) {
    Desk desk(service_);
    auto question = desk.make();
    question->query = call::StatusQuery{};
    const auto back = desk.ask(std::move(question));
    const auto* status = std::get_if<call::NodeStatus>(&back->answer);
    if (status != nullptr && status->leader && status->term != prepared_term) {
      const auto prepared = prepare_keys(service_, settings_, journal_);
      if (prepared) prepared_term = status->term;
      if (!prepared)
        journal_.write(Level::error, "keys_not_read",
                       {{"message", std::string_view(prepared.error().message)}});
    }
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kLook, [this] { return stopping_; })) return;
  }
}

}  // namespace jobbie::app
