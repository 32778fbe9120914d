// What makes two errors alike.
#include "stats/error_groups.hpp"

#include <algorithm>
#include <functional>

#include "base/hash.hpp"

namespace jobbie::stats {
namespace {

constexpr std::size_t kUuidBytes = 36;
/// Shorter words are hexadecimal by accident.
constexpr std::size_t kLeastHex = 8;
/// Words with a digit that are this long are ids.
constexpr std::size_t kLeastId = 16;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_uuid(std::string_view text) {
  if (text.size() < kUuidBytes) return false;
  for (std::size_t i = 0; i < kUuidBytes; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return text.size() == kUuidBytes || !is_word(text[kUuidBytes]);
}

/// The length of a quoted string at the beginning of `text`; zero: there is none. An apostrophe
/// within a word does not begin one; the caller sees to that.
std::size_t quoted_length(std::string_view text) {
  const char quote = text.front();
  if (quote != '"' && quote != '\'' && quote != '`') return 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\n') return 0;
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;
    }
  }
  return 0;
}

void append_word(std::string_view word, std::string& out) {
  const bool digits = std::any_of(word.begin(), word.end(), is_digit);
  const bool hex = word.size() >= kLeastHex && std::all_of(word.begin(), word.end(), is_hex);
  const bool prefixed = word.size() > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
  if (digits && (hex || prefixed || word.size() >= kLeastId)) {
    out.push_back('#');
    return;
  }
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (!is_digit(word[i]))
      out.push_back(word[i]);
    else if (i == 0 || !is_digit(word[i - 1]))
      out.push_back('#');
  }
}

/// They come by the time of their making; an old job may have failed last.
void keep_latest(ErrorGroup& group, const Failed& failed) {
  auto& times = group.jobs_failed;
  const auto place =
      std::upper_bound(times.begin(), times.end(), failed.at, std::greater<>()) - times.begin();
  if (static_cast<std::size_t>(place) == kSampleJobs) return;
  times.insert(times.begin() + place, failed.at);
  group.jobs.insert(group.jobs.begin() + place, failed.job);
  if (times.size() <= kSampleJobs) return;
  times.pop_back();
  group.jobs.pop_back();
}

}  // namespace

std::string normalise_error(std::string_view error) {
  const std::string_view text = error.substr(0, kTellingBytes);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto rest = text.substr(i);
    if (const auto length = quoted_length(rest); length > 0) {
      out.append(1, '?');
      i += length;
    } else if (is_uuid(rest)) {
      out.push_back('#');
      i += kUuidBytes;
    } else if (is_word(text[i])) {
      std::size_t end = i;
      // Within a word an apostrophe is a letter.
      while (end < text.size() &&
             (is_word(text[end]) ||
              (text[end] == '\'' && end + 1 < text.size() && is_word(text[end + 1]))))
        ++end;
      append_word(text.substr(i, end - i), out);
      i = end;
    } else {
      if (!is_space(text[i]))
        out.push_back(text[i]);
      else if (!out.empty() && out.back() != ' ')
        out.push_back(' ');
      ++i;
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::uint64_t fingerprint_of(std::string_view queue, std::string_view normalised) {
  return base::hash_combine(base::hash_bytes(queue), base::hash_bytes(normalised));
}

void ErrorGrouping::add(const Failed& failed) {
  ++examined_;
  auto key = std::pair(std::string(failed.queue.view()), normalise_error(failed.error.view()));
  auto found = groups_.find(key);
  if (found == groups_.end()) {
    if (groups_.size() >= kMaxErrorGroups) {
      complete_ = false;
      return;
    }
    ErrorGroup group{.fingerprint = fingerprint_of(key.first, key.second),
                     .queue = failed.queue,
                     .pattern = key.second,
                     .error = failed.error,
                     .first_seen = failed.at,
                     .last_seen = failed.at,
                     .jobs = {},
                     .jobs_failed = {}};
    found = groups_.emplace(std::move(key), std::move(group)).first;
  }
  ErrorGroup& group = found->second;
  ++(failed.dead ? group.dead : group.retrying);
  group.first_seen = std::min(group.first_seen, failed.at);
  if (failed.at > group.last_seen) {
    group.last_seen = failed.at;
    group.error = failed.error;
  }
  keep_latest(group, failed);
}

ErrorGroups ErrorGrouping::finish(bool all_seen) {
  ErrorGroups out{.groups = {}, .examined = examined_, .complete = complete_ && all_seen};
  for (auto& [key, group] : groups_) out.groups.push_back(std::move(group));
  groups_.clear();
  std::stable_sort(out.groups.begin(), out.groups.end(), [](const auto& a, const auto& b) {
    const auto count = [](const ErrorGroup& g) { return g.dead + g.retrying; };
    if (count(a) != count(b)) return count(a) > count(b);
    return a.last_seen > b.last_seen;
  });
  return out;
}

}  // namespace jobbie::stats
