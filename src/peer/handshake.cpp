// The steps of both sides. They differ in who speaks first.
#include "peer/handshake.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/digest.hpp"
#include "peer/failure.hpp"

namespace jobbie::peer {
std::optional<Verdict> objection(const Greeting& self, const Greeting& other) {
  if (self.instance == other.instance)
    return Verdict{.code = "self", .message = "a node does not talk to itself"};
  if (self.hello.node_id == other.hello.node_id)
    return Verdict{.code = "same_node_id",
                   .message = "two nodes have the same id: one has a copy of the other's data"};
  const auto ours = self.hello.cluster_id;
  const auto theirs = other.hello.cluster_id;
  if (ours != 0 && theirs != 0 && ours != theirs)
    return Verdict{
        .code = "other_cluster",
        .message = fmt::format("clusters {:016x} and {:016x} are not the same", ours, theirs)};
  return std::nullopt;
}

Handshake::Handshake(Setup setup) : setup_(std::move(setup)) {
  auto& nonce = dials() ? transcript_.dialler : transcript_.listener;
  fill_random(nonce.data(), nonce.size());
  transcript_.purpose = setup_.purpose;
  transcript_.binding = setup_.binding;
}

void Handshake::say_preface(std::string& out) const {
  encode(Preface{.version = kVersion,
                 .purpose = setup_.purpose,
                 .nonce = dials() ? transcript_.dialler : transcript_.listener},
         out);
}

void Handshake::say_proof(std::string& out) const {
  const auto label = dials() ? kDiallerProof : kListenerProof;
  out += view_of(derive(setup_.secret, label, transcript_));
}

void Handshake::say_hello(std::string& out) {
  std::string bytes;
  encode(setup_.self, bytes);
  sealing_.seal(number(OwnKind::hello), bytes, out);
}

base::Result<bool> Handshake::advance(FrameReader& reader, std::string& out) {
  if (step_ == Step::begin) {
    if (dials()) say_preface(out);
    step_ = Step::preface;
  }
  for (;;) {
    base::Result<bool> went_on = false;
    switch (step_) {
      case Step::preface:
        went_on = take_preface(reader, out);
        break;
      case Step::proof:
        went_on = take_proof(reader, out);
        break;
      case Step::hello:
        went_on = take_hello(reader, out);
        break;
      default:
        return true;
    }
    if (!went_on || !*went_on) return went_on;
  }
}

base::Result<bool> Handshake::take_preface(FrameReader& reader, std::string& out) {
  // Who is no node is told apart by the first bytes, and not waited for.
  const auto held = reader.held();
  if (!held.empty() && !kMagic.starts_with(held.substr(0, kMagic.size())))
    return std::unexpected(decode_preface(held.substr(0, kMagic.size())).error());
  const auto bytes = reader.take(kPrefaceBytes);
  if (!bytes) return false;
  const auto preface = decode_preface(*bytes);
  if (!preface) return std::unexpected(preface.error());
  if (preface->version != kVersion) {
    if (!dials()) encode(Preface{}, out);
    return failure(
        "version_mismatch",
        fmt::format("the other side speaks version {} of the protocol, this one version {}",
                    preface->version, kVersion));
  }
  if (dials()) {
    transcript_.listener = preface->nonce;
  } else {
    setup_.purpose = preface->purpose;
    transcript_.purpose = preface->purpose;
    transcript_.dialler = preface->nonce;
    say_preface(out);
    say_proof(out);
  }
  step_ = Step::proof;
  return true;
}

base::Result<bool> Handshake::take_proof(FrameReader& reader, std::string& out) {
  const auto proof = reader.take(kProofBytes);
  if (!proof) return false;
  const auto expected =
      derive(setup_.secret, dials() ? kListenerProof : kDiallerProof, transcript_);
  if (!base::constant_time_equal(*proof, view_of(expected)))
    return failure("wrong_secret", "the other side has another cluster secret");
  if (setup_.sealed) {
    const Key dialler = derive(setup_.secret, kDiallerKey, transcript_);
    const Key listener = derive(setup_.secret, kListenerKey, transcript_);
    sealing_ = Seal(Seal::Use::sealing, dials() ? dialler : listener);
    opening_ = Seal(Seal::Use::opening, dials() ? listener : dialler);
  }
  if (dials()) {
    say_proof(out);
    say_hello(out);
  }
  step_ = Step::hello;
  return true;
}

base::Result<bool> Handshake::take_hello(FrameReader& reader, std::string& out) {
  auto frame = reader.next(opening_);
  if (!frame) return std::unexpected(frame.error());
  if (!*frame) return false;
  const std::string& payload = (*frame)->payload;
  if (dials() && (*frame)->kind == number(OwnKind::refused)) {
    auto verdict = decode_verdict(payload);
    if (!verdict) return std::unexpected(verdict.error());
    return failure(verdict->code, "refused by the other side: " + verdict->message);
  }
  if ((*frame)->kind != number(OwnKind::hello)) return failure("malformed", "no hello came");
  auto greeting = decode_greeting(payload);
  if (!greeting) return std::unexpected(greeting.error());
  if (auto verdict = objection(setup_.self, *greeting)) {
    if (!dials()) {
      std::string bytes;
      encode(*verdict, bytes);
      sealing_.seal(number(OwnKind::refused), bytes, out);
    }
    return failure(verdict->code, std::move(verdict->message));
  }
  other_ = std::move(*greeting);
  if (!dials()) say_hello(out);
  step_ = Step::done;
  return true;
}

}  // namespace jobbie::peer
