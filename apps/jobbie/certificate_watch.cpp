// Two files, looked at now and then.
#include "certificate_watch.hpp"

#include <sys/stat.h>

#include "base/rfc3339.hpp"

namespace jobbie::app {

using base::Level;

CertificateWatch::CertificateWatch(http::Server& server, const Settings& settings,
                                   base::Journal& journal)
    : server_(server),
      journal_(journal),
      certificate_(settings.tls_cert),
      key_(settings.tls_key),
      taken_(stamps()),
      seen_(taken_) {}

CertificateWatch::Stamp CertificateWatch::stamp_of(const std::string& file) {
  struct stat now {};
  if (::stat(file.c_str(), &now) != 0) return {};
  return {.device = now.st_dev,
          .inode = now.st_ino,
          .size = static_cast<std::uint64_t>(now.st_size),
          .seconds = now.st_mtim.tv_sec,
          .nanoseconds = now.st_mtim.tv_nsec};
}

CertificateWatch::Stamps CertificateWatch::stamps() const {
  return {stamp_of(certificate_), stamp_of(key_)};
}

void CertificateWatch::look() {
  const Stamps now = stamps();
  const bool settled = now == seen_;
  seen_ = now;
  if (settled && now != taken_) reload();
}

void CertificateWatch::reload() {
  // Before the reading: a change that comes meanwhile is seen at the next look.
  taken_ = seen_ = stamps();
  if (const auto read = server_.reload_tls(); !read) {
    journal_.write(Level::error, "certificate_refused",
                   {{"code", std::string_view(read.error().code)},
                    {"message", std::string_view(read.error().message)}});
    return;
  }
  const std::string expires = base::format_rfc3339(*server_.tls_expires());
  journal_.write(
      Level::info, "certificate_loaded",
      {{"file", std::string_view(certificate_)}, {"expires", std::string_view(expires)}});
}

}  // namespace jobbie::app
