// What every command shares: where the server is, how to print, whom to ask, what to exit with.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client/client.hpp"

namespace jobbie::cli {

// Exit codes, as docs/cli.md lists them.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;        ///< wrong words on the command line, or a value refused
inline constexpr int kUnreachable = 3;  ///< no server, or one that cannot serve now
inline constexpr int kNotFound = 4;
inline constexpr int kConflict = 5;   ///< the job or queue is in another state
inline constexpr int kForbidden = 6;  ///< no key, or one without the scope
inline constexpr int kPartly = 7;     ///< some of many could not be done
inline constexpr int kDeclined = 130;

enum class Output { table, json, ndjson };

/// As given on the command line; what is empty comes from elsewhere.
struct Globals {
  std::string url;
  std::string token_file;
  std::string tls_ca;
  std::string config;
  std::string output = "table";
  std::string timeout;
  bool tls_insecure = false;
  bool no_color = false;
  bool yes = false;
};

/// Where a setting came from, for `config show`.
struct Setting {
  std::string value;
  std::string source;
};

struct Connection {
  Setting url;
  Setting token;
  Setting tls_ca;
  Setting config;
};

/// Flag, then environment, then file, then default.
client::Result<Connection> connection_of(const Globals& globals);

/// For commands that watch: a server that was there and is away is waited for.
class Reconnect {
 public:
  explicit Reconnect(bool reached = false) : reached_(reached) {}
  void reached() {
    reached_ = true;
    away_.reset();
  }
  /// After an exchange that ended, with `error` or without: pauses, and tells whether to try again.
  bool again(const client::Error* error);

 private:
  bool reached_;
  std::optional<std::chrono::steady_clock::time_point> away_;
};

/// Of one run of the program, used by its main thread.
class Session {
 public:
  explicit Session(const Globals& globals);

  Output output() const { return output_; }
  bool json() const { return output_ != Output::table; }
  bool out_is_terminal() const { return out_terminal_; }
  bool in_is_terminal() const { return in_terminal_; }
  bool note_is_terminal() const { return note_terminal_; }
  bool color() const { return color_; }
  int width() const;

  /// Opened on first use.
  client::Result<client::Client*> client();
  /// A client for those who wait for a server that is away.
  client::Result<client::Client> patient_client() const;
  client::Result<client::Document> get(std::string target);
  client::Result<client::Document> post(std::string target, std::string body = {});
  client::Result<client::Document> call(client::Request request);

  /// Says what went wrong and what to do; gives the exit code.
  int fail(const client::Error& error) const;
  int usage(std::string_view message) const;
  /// For people, on standard error.
  void note(std::string_view text) const;
  /// True with --yes, and where nobody can be asked.
  bool confirm(std::string_view question) const;
  bool must_ask() const { return in_terminal_ && !globals_.yes; }

 private:
  client::Result<client::Options> options() const;
  client::Result<client::Client> open(client::Options options) const;

  const Globals& globals_;
  Output output_ = Output::table;
  bool out_terminal_;
  bool in_terminal_;
  bool note_terminal_;
  bool color_;
  std::optional<client::Client> client_;
};

}  // namespace jobbie::cli
