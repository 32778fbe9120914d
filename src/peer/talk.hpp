// A session on a thread of its own, where waiting is allowed: for snapshots.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "peer/link.hpp"

namespace jobbie::peer {

/// Every wait ends after `patience` without a byte (`stalled`), or soon after `stopping`
/// (`stopped`).
class Talk {
 public:
  Talk(Session session, base::Duration patience, const std::atomic<bool>& stopping)
      : session_(std::move(session)), patience_(patience), stopping_(stopping) {}

  struct Dialling {
    const sockaddr& address;
    unsigned length = 0;
    const TlsContext* tls = nullptr;
    Key secret{};
    Greeting self;
    std::size_t longest_frame = 0;
  };
  /// Connects and shakes hands, for a snapshot.
  static base::Result<Talk> dial(const Dialling& how, base::Duration patience,
                                 const std::atomic<bool>& stopping);

  [[nodiscard]] const Greeting& other() const { return session_.other; }
  /// The longest frame that is taken.
  void allow(std::size_t longest) { session_.reader.allow(longest); }
  base::Result<void> send(OwnKind kind, std::string_view payload);
  /// Waits for a frame.
  base::Result<Frame> receive();
  /// A frame if one has come; does not wait.
  base::Result<std::optional<Frame>> look();
  /// Says nothing more, and waits a moment for the other side to close: so it gets the last word.
  void end();

 private:
  base::Result<void> wait(Need need) const;
  base::Result<void> wait(Need need, std::int64_t until_ms) const;
  base::Result<void> flush();
  base::Result<void> shake_hands(const Dialling& how);
  /// Reads once. The need is not `nothing` if nothing was there.
  base::Result<Need> fill();

  Session session_;
  base::Duration patience_;
  const std::atomic<bool>& stopping_;
};

}  // namespace jobbie::peer
