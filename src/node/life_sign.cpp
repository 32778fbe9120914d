// One line of a fixed length, so that each one covers the one before, with a checksum at its end: a
// damaged time would move the log's.
#include "node/life_sign.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/crc32c.hpp"

namespace jobbie::node {
namespace {

constexpr std::string_view kUnknownBoot = "-";
constexpr std::size_t kLongest = 160;

std::string_view next_word(std::string_view& line) {
  const auto begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  const auto end = std::min(line.find_first_of(" \n", begin), line.size());
  const auto word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

bool next_number(std::string_view& line, std::int64_t& out) {
  const auto word = next_word(line);
  const auto read = std::from_chars(word.data(), word.data() + word.size(), out);
  return read.ec == std::errc{} && read.ptr == word.data() + word.size();
}

/// What stands before the checksum of a whole line; nothing: it is none of ours, or damaged.
std::optional<std::string_view> checked(std::string_view text) {
  const auto line = text.substr(0, text.find('\n'));
  const auto space = line.rfind(' ');
  if (line.size() == text.size() || space == std::string_view::npos) return std::nullopt;
  const auto content = line.substr(0, space);
  if (line.substr(space + 1) != fmt::format("{:08x}", base::crc32c(content))) return std::nullopt;
  return content;
}

}  // namespace

LifeSignFile::~LifeSignFile() {
  if (file_ >= 0) ::close(file_);
}

std::optional<LifeSign> LifeSignFile::read() const {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::array<char, kLongest> text{};
  const auto length = ::pread(file, text.data(), text.size(), 0);
  ::close(file);
  LifeSign sign;
  if (auto line = checked({text.data(), length > 0 ? static_cast<std::size_t>(length) : 0})) {
    const auto boot = next_word(*line);
    if (boot != kUnknownBoot) sign.boot = boot;
    if (next_number(*line, sign.steady_us) && next_number(*line, sign.wall_us) &&
        next_number(*line, sign.log.ms))
      return sign;
  }
  std::error_code error;
  const auto touched = std::filesystem::last_write_time(path_, error);
  if (error) return std::nullopt;
  const auto since = std::chrono::file_clock::to_sys(touched).time_since_epoch();
  return LifeSign{.boot = {},
                  .steady_us = 0,
                  .wall_us = std::chrono::duration_cast<std::chrono::microseconds>(since).count(),
                  .log = {}};
}

void LifeSignFile::write(const LifeSign& sign) {
  if (file_ < 0) file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
  if (file_ < 0) return;
  auto line = fmt::format("{:<36} {:>19} {:>19} {:>19}",
                          sign.boot.empty() ? kUnknownBoot : std::string_view(sign.boot),
                          sign.steady_us, sign.wall_us, sign.log.ms);
  line += fmt::format(" {:08x}\n", base::crc32c(line));
  static_cast<void>(::pwrite(file_, line.data(), line.size(), 0));
}

}  // namespace jobbie::node
