// How two nodes come to trust each other, as a machine that takes bytes and gives bytes.
//
//   dialler                                listener
//   preface: version, purpose, nonce  ──►
//                                     ◄──  preface: version, nonce; proof
//   proof; hello (sealed)             ──►
//                                     ◄──  hello (sealed), or a refusal (sealed)
//
// The dialler tells nothing before the listener has proven itself, and the listener gives nobody
// more than a random number and a proof over it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "peer/frame_reader.hpp"
#include "peer/seal.hpp"
#include "peer/wire.hpp"

namespace jobbie::peer {

enum class Role : std::uint8_t { dialler, listener };

/// Why the one who is `self` does not talk to `other`, if so. Codes: `self`, `same_node_id`,
/// `other_cluster`.
std::optional<Verdict> objection(const Greeting& self, const Greeting& other);

class Handshake {
 public:
  struct Setup {
    Role role = Role::dialler;
    Purpose purpose = Purpose::frames;  ///< of a dialler; a listener is told
    Key secret{};
    Greeting self;
    bool sealed = true;   ///< false inside TLS
    std::string binding;  ///< see Transcript
  };
  explicit Handshake(Setup setup);

  /// Takes from `reader` what has come and appends to `out` what is to be sent. True: done; what is
  /// left in `reader` are frames. To be called once before anything has come. After an error `out`
  /// may hold a last word that should be sent before closing.
  base::Result<bool> advance(FrameReader& reader, std::string& out);

  [[nodiscard]] Purpose purpose() const { return setup_.purpose; }
  /// The rest is for after the end.
  [[nodiscard]] const Greeting& other() const { return other_; }
  Seal take_opening() { return std::move(opening_); }
  Seal take_sealing() { return std::move(sealing_); }

 private:
  enum class Step : std::uint8_t { begin, preface, proof, hello, done };

  /// Each takes one step if what it needs has come.
  base::Result<bool> take_preface(FrameReader& reader, std::string& out);
  base::Result<bool> take_proof(FrameReader& reader, std::string& out);
  base::Result<bool> take_hello(FrameReader& reader, std::string& out);
  [[nodiscard]] bool dials() const { return setup_.role == Role::dialler; }
  void say_preface(std::string& out) const;
  void say_proof(std::string& out) const;
  void say_hello(std::string& out);

  Setup setup_;
  Step step_ = Step::begin;
  Transcript transcript_;
  Greeting other_;
  Seal opening_;
  Seal sealing_;
};

}  // namespace jobbie::peer
