// One function a message and direction; commands and replies have a codec of their own.
#include "cluster/messages.hpp"

#include <utility>

#include "base/bytes.hpp"
#include "command/codec.hpp"

namespace jobbie::cluster {
namespace {

using base::ByteReader;
using base::ByteWriter;

constexpr std::uint8_t kVersion = 1;

std::unexpected<base::Error> bad(std::string_view what) {
  return std::unexpected(
      base::Error{.code = "bad_frame", .message = "a frame of a peer: " + std::string(what)});
}

/// The version stands first in every message.
bool begins(ByteReader& reader) { return reader.u8() == kVersion && reader.ok(); }

bool ended(const ByteReader& reader) { return reader.ok() && reader.left() == 0; }

}  // namespace

std::string encode_forward(std::uint64_t number, const call::Call& call, base::Duration wait) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(kVersion);
  writer.var(number);
  writer.duration(wait);
  writer.bytes(call.grant ? std::string_view(call.grant->digest) : std::string_view());
  writer.boolean(call.audit.has_value());
  command::Entry entry;
  entry.commands = call.commands;  // texts in them are shared, not copied
  if (call.audit) entry.commands.emplace_back(*call.audit);
  command::encode(entry, out);
  return out;
}

base::Result<Forwarded> decode_forward(std::string_view bytes) {
  ByteReader reader(bytes);
  if (!begins(reader)) return bad("a version that is not known here");
  Forwarded out;
  out.number = reader.var();
  out.wait = reader.duration();
  out.key_digest = reader.text();
  const bool audited = reader.boolean();
  if (!reader.ok()) return bad("a call that is cut short");
  auto entry = command::decode_entry(bytes.substr(bytes.size() - reader.left()));
  if (!entry) return bad(entry.error().message);
  out.commands = std::move(entry->commands);
  if (audited) {
    auto* action =
        out.commands.empty() ? nullptr : std::get_if<command::RecordAction>(&out.commands.back());
    if (action == nullptr) return bad("a call without its note for the audit log");
    out.audit = std::move(*action);
    out.commands.pop_back();
  }
  if (out.commands.empty()) return bad("a call without commands");
  return out;
}

std::string encode_reply(std::uint64_t number, std::uint64_t index, const call::Call& call) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(kVersion);
  writer.var(number);
  writer.u8(static_cast<std::uint8_t>(call.trouble));
  writer.var(index);
  writer.var(call.replies.size());
  std::string one;
  for (const auto& reply : call.replies) {
    one.clear();
    command::encode(reply, one);
    writer.bytes(one);
  }
  return out;
}

base::Result<Replied> decode_reply(std::string_view bytes) {
  ByteReader reader(bytes);
  if (!begins(reader)) return bad("a version that is not known here");
  Replied out;
  out.number = reader.var();
  const auto trouble = reader.u8();
  out.index = reader.var();
  const auto count = reader.count(1);
  if (!reader.ok() || trouble > static_cast<std::uint8_t>(call::kLastTrouble))
    return bad("a reply that is cut short");
  out.trouble = static_cast<call::Trouble>(trouble);
  out.replies.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto reply = command::decode_reply(reader.bytes());
    if (!reply) return bad(reply.error().message);
    out.replies.push_back(*std::move(reply));
  }
  if (!ended(reader)) return bad("a reply of the wrong length");
  return out;
}

std::string encode_number(std::uint64_t number) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(kVersion);
  writer.var(number);
  return out;
}

base::Result<std::uint64_t> decode_number(std::string_view bytes) {
  ByteReader reader(bytes);
  if (!begins(reader)) return bad("a version that is not known here");
  const auto number = reader.var();
  if (!ended(reader)) return bad("a number of the wrong length");
  return number;
}

std::string encode_member(const log::Member& member) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(kVersion);
  writer.u64(member.id);
  writer.bytes(member.name);
  writer.bytes(member.address);
  writer.bytes(member.http);
  return out;
}

base::Result<log::Member> decode_member(std::string_view bytes) {
  ByteReader reader(bytes);
  if (!begins(reader)) return bad("a version that is not known here");
  log::Member member;
  member.id = reader.u64();
  member.name = reader.text();
  member.address = reader.text();
  member.http = reader.text();
  if (!ended(reader)) return bad("a member that is cut short");
  if (auto fine = log::check(member); !fine) return bad(fine.error().message);
  return member;
}

std::string encode(const Welcome& welcome) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(kVersion);
  writer.var(welcome.index);
  writer.bytes(log::encode(welcome.configuration));
  return out;
}

base::Result<Welcome> decode_welcome(std::string_view bytes) {
  ByteReader reader(bytes);
  if (!begins(reader)) return bad("a version that is not known here");
  Welcome welcome;
  welcome.index = reader.var();
  auto configuration = log::decode_configuration(reader.bytes());
  if (!configuration) return bad(configuration.error().message);
  if (!ended(reader)) return bad("a welcome of the wrong length");
  welcome.configuration = *std::move(configuration);
  return welcome;
}

std::string encode_manage(std::uint64_t number, const call::ClusterChange& change) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(kVersion);
  writer.var(number);
  writer.u8(static_cast<std::uint8_t>(change.action));
  writer.bytes(change.target);
  return out;
}

base::Result<std::pair<std::uint64_t, call::ClusterChange>> decode_manage(std::string_view bytes) {
  ByteReader reader(bytes);
  if (!begins(reader)) return bad("a version that is not known here");
  const auto number = reader.var();
  const auto action = reader.u8();
  call::ClusterChange change{.action = {}, .target = reader.text()};
  if (!ended(reader) || action > static_cast<std::uint8_t>(call::kLastClusterAction))
    return bad("a change of the cluster that is not known here");
  change.action = static_cast<call::ClusterAction>(action);
  return std::pair{number, std::move(change)};
}

std::string encode(const Managed& managed) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(kVersion);
  writer.var(managed.number);
  writer.bytes(managed.answer.code);
  writer.bytes(managed.answer.message);
  return out;
}

base::Result<Managed> decode_managed(std::string_view bytes) {
  ByteReader reader(bytes);
  if (!begins(reader)) return bad("a version that is not known here");
  Managed out;
  out.number = reader.var();
  out.answer.code = reader.text();
  out.answer.message = reader.text();
  if (!ended(reader)) return bad("an answer that is cut short");
  return out;
}

}  // namespace jobbie::cluster
