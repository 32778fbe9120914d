// Connections between the nodes of a cluster, on one TCP port.
//
// Every node dials the others and sends on the connection it dialled; it only listens on those that
// came in. A pair of nodes so has two connections, one each way, and a network that lets through
// one direction alone is seen as just that. What the frames mean is the caller's affair: this
// library knows no log and no job.
//
// Before anything else is said both sides prove that they know the cluster's secret, or show
// certificates of the cluster's authority, or both. Without TLS every frame is encrypted and
// authenticated with keys made from the secret and from random numbers of both sides, so nobody on
// the way can read, forge, repeat or reorder frames. The bytes: docs/formats/peer.md.
//
// Frames on one connection arrive in the order in which they were sent, each once, or the
// connection is lost. Frames that were taken by send() and had not arrived by then are gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/journal.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "peer/hello.hpp"

namespace jobbie::peer {

/// Files in PEM form. The certificate (with those between it and the authority, if any) must chain
/// to `ca`, and so must the other side's. Who has a certificate of that authority is a node: use
/// one that serves the cluster alone. Read once, by Transport::open().
struct TlsFiles {
  std::string cert;
  std::string key;
  std::string ca;
};

/// Every bound in one place.
struct Limits {
  std::size_t frame_bytes = std::size_t{64} << 20;  ///< longest frame, kind included
  std::size_t queue_bytes = std::size_t{64} << 20;  ///< waiting for one peer; one frame always may
  std::size_t snapshot_header_bytes = std::size_t{1} << 20;
  std::size_t strangers = 64;  ///< incoming connections that have not proven anything yet
  std::size_t strangers_per_address = 24;  ///< of those, from one address
  std::size_t accepts_per_second = 100;    ///< from one address; more are closed at once
  std::size_t incoming_per_node = 4;       ///< the oldest goes when one more comes
  std::size_t sending = 4;                 ///< snapshots that leave at a time
  std::size_t receiving = 2;               ///< snapshots that arrive at a time

  base::Duration handshake_time{5'000};  ///< from the connection's begin to the hello
  base::Duration ping_time{1'000};
  base::Duration idle_time{5'000};  ///< a connection on which nothing moves that long is closed
  base::Duration shortest_backoff{50};
  base::Duration longest_backoff{2'000};
  base::Duration stall_time{10'000};  ///< a snapshot of which nothing moves that long is given up
};

struct Options {
  std::string listen;  ///< "host:port", "[::1]:port"; port 0 takes a free one; empty: no listening
  Hello self;
  /// The cluster's secret. May be empty: then anybody who can connect is let in unless `tls` is
  /// set; whether that is all right is for the caller to decide.
  std::string secret;
  std::optional<TlsFiles> tls;
  /// Where snapshots arrive; made if it is not there. What half-arrived before is removed. Empty:
  /// snapshots are refused.
  std::string snapshot_dir;
  Limits limits;
  base::Journal* journal = nullptr;  ///< outlives the transport
};

/// Kinds of frames from here on are the transport's own.
inline constexpr std::uint8_t kFirstOwnKind = 240;

/// A snapshot that has arrived whole: its digest is right, and it is synced under `path`. From now
/// on the file is the handler's. It may move it away; whatever it does, it ends with
/// Transport::finish(token, ...), from any thread, and the sender waits for that.
struct Incoming {
  std::uint64_t token = 0;
  std::uint64_t from = 0;
  std::string header;  ///< as the sender gave it
  std::string path;    ///< `<snapshot_dir>/incoming-<random>.snapshot`
  std::uint64_t bytes = 0;
};

/// Called on the transport's own thread, one call at a time, never after stop() has returned. Must
/// not block, and must not call stop().
class Handler {
 public:
  virtual ~Handler() = default;
  /// A peer, connected to us or by us, has proven that it belongs to us. Comes before anything else
  /// on that connection, and again with every new connection.
  virtual void on_hello(const Hello& hello) = 0;
  /// From a connection that `from` dialled.
  virtual void on_frame(std::uint64_t from, std::uint8_t kind, std::string bytes) = 0;
  /// The connection that we dialled to `node` can be sent on; is gone. They alternate.
  virtual void on_connected(std::uint64_t node) = 0;
  virtual void on_lost(std::uint64_t node) = 0;
  /// A connection that `node` dialled is gone or replaced: what it sent on that may be lost.
  virtual void on_unheard(std::uint64_t /*node*/) {}
  virtual void on_snapshot(Incoming snapshot) = 0;
};

/// What is known of one peer.
struct Status {
  std::string address;        ///< as dialled; of a peer that only dials us, as its hello says
  std::uint64_t node_id = 0;  ///< 0 while nobody has answered
  std::string name;
  bool outgoing = false;   ///< our connection to it stands
  bool incoming = false;   ///< its connection to us stands
  bool is_self = false;    ///< the address is our own; it is not dialled again
  base::Instant since{0};  ///< when `outgoing` last changed
  std::optional<std::int64_t> round_trip_us;
  std::uint64_t sent_bytes = 0;      ///< on our connection, frames with what is around them
  std::uint64_t received_bytes = 0;  ///< on its connections
  std::size_t queued_bytes = 0;
  std::string last_error;  ///< why the last attempt or connection ended; empty: none did
};

/// Thread: any, where nothing else is said. One thread of its own serves all connections, and one
/// more each snapshot under way.
class Transport {
 public:
  /// Listens when this returns. `handler` outlives the transport.
  static base::Result<std::unique_ptr<Transport>> open(Options options, Handler& handler);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Closes everything and waits for its threads. Snapshots under way end with `stopped`. No
  /// on_lost is called for what this closes. Afterwards the other calls do nothing.
  void stop();

  /// The addresses ("host:port") to be connected with from now on; those left out are disconnected.
  /// A name is resolved at every attempt. Our own may be among them: it is noticed and left alone.
  void dial(std::vector<std::string> addresses);

  /// What we say of ourselves has changed: all connections are made anew, and tell it.
  void introduce(Hello self);

  /// False: not connected, or the queue is full, or `bytes` is too long. True promises nothing but
  /// order. `kind` is less than kFirstOwnKind.
  bool send(std::uint64_t node, std::uint8_t kind, std::string bytes);

  /// Sends the file on a connection of its own. `done` is called exactly once, on the transport's
  /// thread: without error when the other side's handler has taken the snapshot. Codes of errors:
  /// `not_connected`, `busy`, `io_error`, `connection_lost`, `stalled`, `refused`, `stopped`.
  void send_snapshot(std::uint64_t node, std::string header, std::string path,
                     std::function<void(base::Result<void>)> done);

  /// The answer to on_snapshot. Not taken: the file is removed, if it is still there.
  void finish(std::uint64_t token, bool taken);

  [[nodiscard]] std::vector<Status> status() const;
  /// The port that is listened on; 0 if none is.
  [[nodiscard]] std::uint16_t port() const;

 private:
  class Impl;
  explicit Transport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace jobbie::peer
