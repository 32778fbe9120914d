// Encoders and decoders. Each decoder takes exactly what its encoder gives.
#include "peer/wire.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"

namespace jobbie::peer {
namespace {

constexpr std::size_t kMaxCode = 64;
constexpr std::size_t kMaxMessage = 512;
/// What a TLS connection begins with.
constexpr char kTlsHandshake = 0x16;

std::unexpected<base::Error> malformed(std::string_view what) {
  return std::unexpected(base::Error{.code = "malformed", .message = std::string(what)});
}

/// Names and messages end up on screens and in journals.
bool is_text(std::string_view text, std::size_t most) {
  return text.size() <= most && std::ranges::none_of(text, [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

}  // namespace

void encode(const Preface& preface, std::string& out) {
  base::ByteWriter writer(out);
  out += kMagic;
  writer.u32(preface.version);
  writer.u8(static_cast<std::uint8_t>(preface.purpose));
  out.append(preface.nonce.data(), preface.nonce.size());
}

base::Result<Preface> decode_preface(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    const bool tls = !bytes.empty() && bytes.front() == kTlsHandshake;
    return std::unexpected(
        base::Error{.code = "not_a_node",
                    .message = tls ? "the other side speaks TLS, and this one is not set up for it"
                                   : "the other side does not speak as a node does"});
  }
  if (bytes.size() != kPrefaceBytes) return malformed("a preface of another length");
  base::ByteReader reader(bytes.substr(kMagic.size()));
  Preface preface{.version = reader.u32()};
  if (preface.version != kVersion) return preface;
  const auto purpose = reader.u8();
  if (purpose > static_cast<std::uint8_t>(Purpose::snapshot)) return malformed("unknown purpose");
  preface.purpose = static_cast<Purpose>(purpose);
  bytes.substr(kPrefaceBytes - kNonceBytes).copy(preface.nonce.data(), kNonceBytes);
  return preface;
}

base::Result<void> check(const Hello& hello) {
  if (hello.node_id == 0) return malformed("a node without an id");
  for (const auto* text : {&hello.name, &hello.address, &hello.http})
    if (!is_text(*text, kMaxHelloText))
      return malformed("a name or an address that is too long or has control characters");
  return {};
}

void encode(const Greeting& greeting, std::string& out) {
  base::ByteWriter writer(out);
  const Hello& hello = greeting.hello;
  writer.u64(hello.cluster_id);
  writer.u64(hello.node_id);
  writer.u64(greeting.instance);
  writer.bytes(hello.name);
  writer.bytes(hello.address);
  writer.bytes(hello.http);
  writer.boolean(hello.has_log);
  writer.u32(hello.size);
}

base::Result<Greeting> decode_greeting(std::string_view bytes) {
  base::ByteReader reader(bytes);
  Greeting greeting;
  Hello& hello = greeting.hello;
  hello.cluster_id = reader.u64();
  hello.node_id = reader.u64();
  greeting.instance = reader.u64();
  hello.name = reader.text();
  hello.address = reader.text();
  hello.http = reader.text();
  hello.has_log = reader.boolean();
  hello.size = reader.u32();
  if (!reader.ok() || !reader.at_end()) return malformed("a hello that cannot be read");
  if (auto fine = check(hello); !fine) return std::unexpected(std::move(fine.error()));
  return greeting;
}

void encode(const Verdict& verdict, std::string& out) {
  base::ByteWriter writer(out);
  writer.bytes(std::string_view(verdict.code).substr(0, kMaxCode));
  writer.bytes(std::string_view(verdict.message).substr(0, kMaxMessage));
}

base::Result<Verdict> decode_verdict(std::string_view bytes) {
  base::ByteReader reader(bytes);
  Verdict verdict;
  verdict.code = reader.text();
  verdict.message = reader.text();
  if (!reader.ok() || !reader.at_end() || !is_text(verdict.code, kMaxCode) ||
      !is_text(verdict.message, kMaxMessage))
    return malformed("a verdict that cannot be read");
  return verdict;
}

void encode(const SnapshotBegin& begin, std::string& out) {
  base::ByteWriter writer(out);
  writer.u64(begin.bytes);
  writer.bytes(begin.header);
}

base::Result<SnapshotBegin> decode_snapshot_begin(std::string_view bytes) {
  base::ByteReader reader(bytes);
  SnapshotBegin begin;
  begin.bytes = reader.u64();
  begin.header = reader.text();
  if (!reader.ok() || !reader.at_end()) return malformed("a snapshot's begin that cannot be read");
  return begin;
}

}  // namespace jobbie::peer
