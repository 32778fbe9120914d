// The bytes without a network: decoders, seals, and both sides of a handshake in one thread.
#include "peer/wire.hpp"

#include <chrono>
#include <cstdio>

#include <gtest/gtest.h>

#include "base/digest.hpp"
#include "peer/address.hpp"
#include "peer/frame_reader.hpp"
#include "peer/handshake.hpp"
#include "peer/seal.hpp"
#include "peer/test_node.hpp"

namespace jobbie::peer {
namespace {

Greeting greeting(std::uint64_t node, std::uint64_t cluster = 7) {
  return {.hello = {.cluster_id = cluster, .node_id = node, .name = "n", .address = "a:1"},
          .instance = 1000 + node};
}

void feed(FrameReader& reader, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto space = reader.space();
    const auto some = std::min(space.size(), bytes.size());
    bytes.copy(space.data(), some);
    reader.filled(some);
    bytes.remove_prefix(some);
  }
}

TEST(Wire, HelloKeepsEverything) {
  const Greeting given{.hello = {.cluster_id = ~std::uint64_t{0},
                                 .node_id = 1,
                                 .name = std::string(kMaxHelloText, 'x'),
                                 .address = "[::1]:9400",
                                 .http = "",
                                 .has_log = true,
                                 .size = 5},
                       .instance = 42};
  std::string bytes;
  encode(given, bytes);
  const auto got = decode_greeting(bytes);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(*got, given);
  EXPECT_LT(bytes.size(), kMaxEarlyFrame);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    EXPECT_FALSE(decode_greeting(std::string_view(bytes).substr(0, i)).has_value());
  EXPECT_FALSE(decode_greeting(bytes + "x").has_value());
}

TEST(Wire, HelloIsRefusedIfItIsNotFitToShow) {
  for (auto* change : {+[](Hello& h) { h.node_id = 0; }, +[](Hello& h) { h.name = "a\nb"; },
                       +[](Hello& h) { h.http = std::string(kMaxHelloText + 1, 'x'); }}) {
    auto given = greeting(3);
    change(given.hello);
    std::string bytes;
    encode(given, bytes);
    EXPECT_FALSE(decode_greeting(bytes).has_value());
    EXPECT_FALSE(check(given.hello).has_value());
  }
}

TEST(Wire, SmallMessagesKeepEverything) {
  std::string bytes;
  encode(Verdict{.code = "busy", .message = "later"}, bytes);
  EXPECT_EQ(decode_verdict(bytes)->message, "later");
  bytes.clear();
  encode(SnapshotBegin{.bytes = 1ULL << 40, .header = "h"}, bytes);
  EXPECT_EQ(*decode_snapshot_begin(bytes), (SnapshotBegin{.bytes = 1ULL << 40, .header = "h"}));
  EXPECT_FALSE(decode_snapshot_begin(bytes.substr(1)).has_value());
}

TEST(Wire, Addresses) {
  EXPECT_EQ(parse_address("host:9400")->host, "host");
  EXPECT_EQ(parse_address("[::1]:9400")->host, "::1");
  EXPECT_EQ(parse_address("[::1]:9400")->port, 9400);
  for (const auto* text : {"", "host", ":1", "host:", "host:65536", "host:1x", "::1:9400", "[]:1"})
    EXPECT_FALSE(parse_address(text).has_value()) << text;
}

TEST(Seal, OpensWhatWasSealedInOrderAndNothingElse) {
  const Key key{1, 2, 3};
  Seal sealing(Seal::Use::sealing, key);
  std::string first;
  std::string second;
  sealing.seal(1, "first", first);
  sealing.seal(2, "", second);
  const auto open = [&](std::string_view all, Seal& seal) {
    FrameReader reader(100);
    feed(reader, all);
    auto frame = reader.next(seal);
    return frame && *frame ? (*frame)->payload + std::to_string((*frame)->kind) : "refused";
  };
  {
    Seal opening(Seal::Use::opening, key);
    EXPECT_EQ(open(first, opening), "first1");
    EXPECT_EQ(open(second, opening), "2");
    EXPECT_EQ(open(second, opening), "refused");
  }
  Seal skips(Seal::Use::opening, key);
  EXPECT_EQ(open(second, skips), "refused");
  for (std::size_t i = 0; i < first.size() * 8; ++i) {
    Seal opening(Seal::Use::opening, key);
    auto flipped = first;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    EXPECT_EQ(open(flipped, opening), "refused") << i;
  }
}

TEST(Seal, BothSidesChangeTheirKeysTogether) {
  const Key key{9};
  Seal sealing(Seal::Use::sealing, key, 100);
  Seal opening(Seal::Use::opening, key, 100);
  Seal never(Seal::Use::opening, key);
  FrameReader reader(1000);
  FrameReader other(1000);
  bool differs = false;
  for (int i = 0; i < 20; ++i) {
    std::string bytes;
    sealing.seal(3, std::string(60, static_cast<char>('a' + i)), bytes);
    feed(reader, bytes);
    const auto frame = reader.next(opening);
    ASSERT_TRUE(frame && *frame);
    EXPECT_EQ((*frame)->payload.front(), 'a' + i);
    feed(other, bytes);
    differs = differs || !other.next(never);
  }
  EXPECT_TRUE(differs);
}

TEST(FrameReader, BoundsWhatItTakes) {
  Seal none;
  FrameReader reader(10);
  std::string bytes;
  Seal().seal(1, "0123456789", bytes);
  Seal().seal(1, "0123456789x", bytes);
  feed(reader, bytes);
  EXPECT_TRUE(reader.next(none)->has_value());
  EXPECT_EQ(reader.next(none).error().code, "frame_too_long");
}

TEST(FrameReader, TakesFramesInPiecesOfEverySize) {
  std::string bytes;
  for (int i = 0; i < 50; ++i)
    Seal().seal(static_cast<std::uint8_t>(i), std::string(static_cast<std::size_t>(i * 37), 'x'),
                bytes);
  for (const std::size_t piece : {1U, 2U, 7U, 100U, 5000U}) {
    Seal none;
    FrameReader reader(4000);
    int count = 0;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      feed(reader, std::string_view(bytes).substr(at, piece));
      for (auto frame = reader.next(none); *frame; frame = reader.next(none)) {
        EXPECT_EQ((*frame)->kind, count);
        EXPECT_EQ((*frame)->payload.size(), static_cast<std::size_t>(count) * 37);
        ++count;
      }
    }
    EXPECT_EQ(count, 50);
  }
}

/// What became of a handshake: the codes of both sides, "" for a good end.
struct Outcome {
  std::string dialler;
  std::string listener;
};

Outcome shake(Handshake dialler, Handshake listener) {
  FrameReader to_dialler(kMaxEarlyFrame);
  FrameReader to_listener(kMaxEarlyFrame);
  Outcome outcome{"unfinished", "unfinished"};
  for (int i = 0; i < 10; ++i) {
    std::string out;
    if (outcome.dialler == "unfinished")
      if (const auto done = dialler.advance(to_dialler, out); !done || *done)
        outcome.dialler = done ? "" : done.error().code;
    feed(to_listener, out);
    out.clear();
    if (outcome.listener == "unfinished")
      if (const auto done = listener.advance(to_listener, out); !done || *done)
        outcome.listener = done ? "" : done.error().code;
    feed(to_dialler, out);
  }
  return outcome;
}

Handshake side(Role role, const std::string& secret, Greeting self, std::string binding = "") {
  return Handshake({.role = role,
                    .secret = key_of_secret(secret),
                    .self = std::move(self),
                    .sealed = true,
                    .binding = std::move(binding)});
}

TEST(Handshake, SucceedsBetweenNodesOfOneCluster) {
  const auto outcome =
      shake(side(Role::dialler, "s", greeting(1)), side(Role::listener, "s", greeting(2)));
  EXPECT_EQ(outcome.dialler, "");
  EXPECT_EQ(outcome.listener, "");
  const auto forming =
      shake(side(Role::dialler, "", greeting(1, 0)), side(Role::listener, "", greeting(2)));
  EXPECT_EQ(forming.dialler, "");
}

TEST(Handshake, TellsWhyItFails) {
  const auto secret =
      shake(side(Role::dialler, "s", greeting(1)), side(Role::listener, "t", greeting(2)));
  EXPECT_EQ(secret.dialler, "wrong_secret");
  EXPECT_EQ(secret.listener, "unfinished");  // the dialler has told nothing that could be judged
  const auto cluster =
      shake(side(Role::dialler, "s", greeting(1)), side(Role::listener, "s", greeting(2, 8)));
  EXPECT_EQ(cluster.dialler, "other_cluster");
  EXPECT_EQ(cluster.listener, "other_cluster");
  const auto copy = shake(side(Role::dialler, "s", greeting(1)),
                          side(Role::listener, "s", {.hello = greeting(1).hello, .instance = 5}));
  EXPECT_EQ(copy.dialler, "same_node_id");
  const auto self =
      shake(side(Role::dialler, "s", greeting(1)), side(Role::listener, "s", greeting(1)));
  EXPECT_EQ(self.dialler, "self");
  const auto passed_on = shake(side(Role::dialler, "s", greeting(1), "one session"),
                               side(Role::listener, "s", greeting(2), "another"));
  EXPECT_EQ(passed_on.dialler, "wrong_secret");
}

TEST(Handshake, ListenerRefusesAForgedProof) {
  auto listener = side(Role::listener, "s", greeting(2));
  FrameReader reader(kMaxEarlyFrame);
  std::string out;
  std::string bytes;
  encode(Preface{}, bytes);
  feed(reader, bytes);
  ASSERT_TRUE(listener.advance(reader, out).has_value());
  ASSERT_EQ(out.size(), kPrefaceBytes + kProofBytes);
  // Its own proof sent back is not the other side's.
  feed(reader, out.substr(kPrefaceBytes));
  EXPECT_EQ(listener.advance(reader, out).error().code, "wrong_secret");
  EXPECT_EQ(out.size(), kPrefaceBytes + kProofBytes);
}

TEST(Handshake, OtherVersionsAreTold) {
  auto listener = side(Role::listener, "s", greeting(2));
  FrameReader reader(kMaxEarlyFrame);
  std::string bytes;
  encode(Preface{.version = 99}, bytes);
  feed(reader, bytes);
  std::string out;
  const auto refused = listener.advance(reader, out);
  EXPECT_EQ(refused.error().code, "version_mismatch");
  EXPECT_NE(refused.error().message.find("version 99"), std::string::npos);
  EXPECT_EQ(decode_preface(out)->version, kVersion);

  auto dialler = side(Role::dialler, "s", greeting(1));
  FrameReader answer(kMaxEarlyFrame);
  std::string ours;
  ASSERT_TRUE(dialler.advance(answer, ours).has_value());
  feed(answer, bytes);
  const auto before = ours;
  EXPECT_EQ(dialler.advance(answer, ours).error().code, "version_mismatch");
  EXPECT_EQ(ours, before);
}

TEST(Handshake, StrangersAreToldApartByTheirFirstBytes) {
  for (const auto& [bytes, word] : {std::pair("GET / HTTP/1.1\r\n", "does not speak"),
                                    std::pair("\x16\x03\x01", "speaks TLS")}) {
    auto listener = side(Role::listener, "s", greeting(2));
    FrameReader reader(kMaxEarlyFrame);
    feed(reader, bytes);
    std::string out;
    const auto refused = listener.advance(reader, out);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, "not_a_node");
    EXPECT_NE(refused.error().message.find(word), std::string::npos);
    EXPECT_TRUE(out.empty());
  }
}

/// Not a check of speed: prints what a seal costs beside an HMAC of the same bytes.
TEST(Seal, WhatItCosts) {
  using Clock = std::chrono::steady_clock;
  const Key key{4};
  for (const std::size_t size : {std::size_t{100}, std::size_t{16} << 10, std::size_t{1} << 20}) {
    const std::string payload = random_bytes(size, 1);
    const std::size_t rounds = std::max<std::size_t>(8, (std::size_t{16} << 20) / (size + 2000));
    Seal sealing(Seal::Use::sealing, key);
    std::string out;
    const auto start = Clock::now();
    for (std::size_t i = 0; i < rounds; ++i) {
      out.clear();
      sealing.seal(1, payload, out);
    }
    const auto middle = Clock::now();
    unsigned sum = 0;
    for (std::size_t i = 0; i < rounds; ++i) sum += base::hmac_sha256(view_of(key), payload)[0];
    const auto end = Clock::now();
    const auto each = [&](Clock::duration all) {
      return std::chrono::duration<double, std::micro>(all).count() / static_cast<double>(rounds);
    };
    std::printf("%zu bytes: seal %.2f us, HMAC-SHA-256 %.2f us (%u)\n", size, each(middle - start),
                each(end - middle), sum % 2);
    EXPECT_EQ(out.size(), size + kHeadBytes + kTagBytes);
  }
}

}  // namespace
}  // namespace jobbie::peer
