// Takes a renewed certificate without a restart.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/journal.hpp"
#include "http/server.hpp"
#include "settings.hpp"

namespace jobbie::app {

/// Used by the thread that owns the server.
class CertificateWatch {
 public:
  /// The server has read the files of `settings` just now.
  CertificateWatch(http::Server& server, const Settings& settings, base::Journal& journal);

  /// Looks at the files, and reads them again once they have changed and then stayed the same for
  /// a look: a certificate and its key are rarely replaced in one step.
  void look();
  /// Reads the files again. What is no good is refused, with a line in the journal.
  void reload();

 private:
  /// What tells one version of a file from another, also behind a link.
  struct Stamp {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };
  using Stamps = std::array<Stamp, 2>;
  static Stamp stamp_of(const std::string& file);
  [[nodiscard]] Stamps stamps() const;

  http::Server& server_;
  base::Journal& journal_;
  const std::string certificate_;
  const std::string key_;
  Stamps taken_;  ///< when the files were read last
  Stamps seen_;   ///< at the last look
};

}  // namespace jobbie::app
