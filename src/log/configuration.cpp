// Changes of the configuration, and its bytes.
#include "log/configuration.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "consensus/core.hpp"
#include "consensus/message.hpp"

namespace jobbie::log {
namespace {

constexpr std::uint8_t kVersion = 1;
/// An id, two lengths of addresses, one of a name and a flag.
constexpr std::size_t kMinMemberBytes = 12;

// Of raft-rs: ConfChangeSingle in ConfChangeV2.
enum class CoreChange : std::uint64_t { add_node = 0, remove_node = 1, add_learner = 2 };

std::unexpected<base::Error> bad(std::string message) {
  return std::unexpected(base::Error{"bad_configuration", std::move(message)});
}

void put(base::ByteWriter& writer, const Member& member) {
  writer.u64(member.id);
  writer.bytes(member.name);
  writer.bytes(member.address);
  writer.bytes(member.http);
  writer.boolean(member.voter);
}

Member take_member(base::ByteReader& reader) {
  Member member;
  member.id = reader.u64();
  member.name = reader.text();
  member.address = reader.text();
  member.http = reader.text();
  member.voter = reader.boolean();
  return member;
}

void put(base::ByteWriter& writer, const Configuration& configuration) {
  writer.u64(configuration.cluster_id);
  writer.var(configuration.members.size());
  for (const auto& member : configuration.members) put(writer, member);
}

Configuration take_configuration(base::ByteReader& reader) {
  Configuration configuration;
  configuration.cluster_id = reader.u64();
  const auto count = reader.count(kMinMemberBytes);
  if (count > kMaxMembers) reader.fail();
  for (std::size_t i = 0; reader.ok() && i < count; ++i)
    configuration.members.push_back(take_member(reader));
  return configuration;
}

/// Whether the version byte is one that we read.
base::Result<void> take_version(base::ByteReader& reader) {
  const auto version = reader.u8();
  if (!reader.ok()) return bad("it has no version");
  if (version != kVersion)
    return std::unexpected(
        base::Error{"unknown_version", "the configuration was written by another version"});
  return {};
}

auto place_of(Configuration& configuration, std::uint64_t id) {
  return std::ranges::lower_bound(configuration.members, id, {}, &Member::id);
}

}  // namespace

const Member* Configuration::find(std::uint64_t id) const {
  const auto at = std::ranges::find(members, id, &Member::id);
  return at == members.end() ? nullptr : &*at;
}

const Member* Configuration::find_name(std::string_view name) const {
  const auto at = std::ranges::find(members, name, &Member::name);
  return at == members.end() ? nullptr : &*at;
}

std::size_t Configuration::voter_count() const {
  return static_cast<std::size_t>(std::ranges::count(members, true, &Member::voter));
}

bool Configuration::is_voter(std::uint64_t id) const {
  const auto* member = find(id);
  return member != nullptr && member->voter;
}

Configuration apply(Configuration configuration, const Change& change) {
  const auto& member = change.member;
  const auto at = place_of(configuration, member.id);
  const bool known = at != configuration.members.end() && at->id == member.id;
  switch (change.kind) {
    case Change::Kind::add_learner:
      if (known || configuration.members.size() >= kMaxMembers) break;
      configuration.members.insert(at, member)->voter = false;
      break;
    case Change::Kind::promote:
      if (known) at->voter = true;
      break;
    case Change::Kind::remove:
      if (!known || (at->voter && configuration.voter_count() == 1)) break;
      configuration.members.erase(at);
      break;
    case Change::Kind::update:
      if (!known) break;
      at->name = member.name;
      at->address = member.address;
      at->http = member.http;
      break;
  }
  return configuration;
}

base::Result<void> check(const Member& member) {
  if (member.id == 0) return bad("a member's id is 0");
  if (member.name.size() > kMaxMemberNameBytes)
    return bad(fmt::format("the name of member {} is too long", member.id));
  if (std::max(member.address.size(), member.http.size()) > kMaxMemberAddressBytes)
    return bad(fmt::format("an address of member {} is too long", member.id));
  return {};
}

base::Result<void> check(const Configuration& configuration) {
  const auto& members = configuration.members;
  if (members.size() > kMaxMembers) return bad("it has too many members");
  for (const auto& member : members)
    if (auto sound = check(member); !sound) return sound;
  const auto rising = [](const Member& a, const Member& b) { return a.id >= b.id; };
  if (std::ranges::adjacent_find(members, rising) != members.end())
    return bad("its members are not in the order of their ids");
  if (configuration.voter_count() == 0) return bad("it has no voter");
  return {};
}

std::string encode(const Configuration& configuration) {
  std::string out;
  base::ByteWriter writer(out);
  writer.u8(kVersion);
  put(writer, configuration);
  return out;
}

std::string encode(const Change& change) {
  std::string out;
  base::ByteWriter writer(out);
  writer.u8(kVersion);
  writer.u8(static_cast<std::uint8_t>(change.kind));
  put(writer, change.member);
  return out;
}

std::string encode(const Configured& configured) {
  std::string out;
  base::ByteWriter writer(out);
  writer.u8(kVersion);
  writer.u64(configured.index);
  writer.boolean(configured.joined);
  put(writer, configured.configuration);
  return out;
}

base::Result<Configuration> decode_configuration(std::string_view bytes) {
  base::ByteReader reader(bytes);
  if (auto known = take_version(reader); !known) return std::unexpected(known.error());
  auto configuration = take_configuration(reader);
  if (!reader.ok() || !reader.at_end()) return bad("its bytes make no sense");
  if (auto sound = check(configuration); !sound) return std::unexpected(sound.error());
  return configuration;
}

base::Result<Change> decode_change(std::string_view bytes) {
  base::ByteReader reader(bytes);
  if (auto known = take_version(reader); !known) return std::unexpected(known.error());
  const auto kind = reader.u8();
  if (kind < static_cast<std::uint8_t>(Change::Kind::add_learner) ||
      kind > static_cast<std::uint8_t>(Change::Kind::update))
    reader.fail();
  Change change{.kind = Change::Kind{kind}, .member = take_member(reader)};
  if (!reader.ok() || !reader.at_end()) return bad("a change's bytes make no sense");
  if (auto sound = check(change.member); !sound) return std::unexpected(sound.error());
  return change;
}

base::Result<Configured> decode_configured(std::string_view bytes) {
  base::ByteReader reader(bytes);
  if (auto known = take_version(reader); !known) return std::unexpected(known.error());
  Configured configured;
  configured.index = reader.u64();
  configured.joined = reader.boolean();
  configured.configuration = take_configuration(reader);
  if (!reader.ok() || !reader.at_end()) return bad("its bytes make no sense");
  if (auto sound = check(configured.configuration); !sound) return std::unexpected(sound.error());
  return configured;
}

std::string encode_entry(const Configuration& before, const Change& change) {
  auto kind = CoreChange::add_learner;
  if (change.kind == Change::Kind::remove) kind = CoreChange::remove_node;
  if (change.kind == Change::Kind::promote ||
      (change.kind == Change::Kind::update && before.is_voter(change.member.id)))
    kind = CoreChange::add_node;
  std::string single;
  base::ByteWriter inner(single);
  inner.var(1 << 3);
  inner.var(static_cast<std::uint64_t>(kind));
  inner.var(2 << 3);
  inner.var(change.member.id);
  std::string out;
  base::ByteWriter writer(out);
  writer.var((2 << 3) | 2);
  writer.bytes(single);
  writer.var((3 << 3) | 2);
  writer.bytes(encode(change));
  return out;
}

base::Result<Change> decode_entry(std::string_view bytes) {
  consensus::Fields fields(bytes);
  std::string_view context;
  while (fields.next())
    if (fields.field() == 3) context = fields.bytes();
  if (!fields.ok()) return bad("an entry that changes it makes no sense");
  return decode_change(context);
}

std::string conf_state_of(const Configuration& configuration) {
  std::vector<std::uint64_t> voters;
  std::vector<std::uint64_t> learners;
  for (const auto& member : configuration.members)
    (member.voter ? voters : learners).push_back(member.id);
  return consensus::conf_state_of(voters, learners);
}

}  // namespace jobbie::log
