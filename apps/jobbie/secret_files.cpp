// Modes of files, by what `stat` says of the file that a link leads to.
#include "secret_files.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

namespace jobbie::app {
namespace {

using base::Level;

constexpr mode_t kPermissions = 07777;

base::Result<void> check(std::string_view flag, const std::string& path, base::Journal& journal) {
  struct stat file {};
  if (path.empty() || ::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return {};
  const auto mode = file.st_mode & kPermissions;
  if ((mode & (S_IWGRP | S_IWOTH)) != 0)
    return std::unexpected(base::Error{
        .code = "insecure_file",
        .message = fmt::format("{} {} has the mode {:04o}: {} may write it, and so decide who gets "
                               "in. Say chmod 600 {}",
                               flag, path, mode, (mode & S_IWOTH) != 0 ? "everybody" : "its group",
                               path)});
  if ((mode & S_IROTH) == 0) return {};
  const auto message = fmt::format(
      "{} has the mode {:04o}: everybody on this machine may read the secret in it. Say "
      "chmod 600 {}",
      path, mode, path);
  journal.write(Level::warning, "secret_readable_by_all",
                {{"file", std::string_view(path)}, {"message", std::string_view(message)}});
  return {};
}

}  // namespace

base::Result<void> check_secret_files(const Settings& settings, base::Journal& journal) {
  const std::vector<std::pair<std::string_view, std::string>> files = {
      {"--auth-keys-file", settings.auth_keys_file},
      {"--tls-key", settings.tls_key},
      {"--cluster-secret-file", settings.cluster_secret_file},
      {"--cluster-tls-key", settings.cluster_tls_key},
      {"The key", settings.data_dir + "/admin.key"}};
  for (const auto& [flag, path] : files)
    if (auto fine = check(flag, path, journal); !fine) return fine;
  return {};
}

}  // namespace jobbie::app
