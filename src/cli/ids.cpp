// Tells JSON from tables by the first character.
#include "cli/ids.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "cli/times.hpp"
#include "client/json.hpp"

namespace jobbie::cli {
namespace {

constexpr std::size_t kIdSize = 30;
constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr std::size_t kMostObject = std::size_t{64} << 20;

client::Error not_ids(std::string message) {
  return bad_argument(std::move(message),
                      "Pipe a search into it: jobbie search --state dead | jobbie bulk retry");
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/// False if the object names no job.
bool take_object(const std::string& text, std::vector<std::string>& ids) {
  const auto object = client::Document::parse(text);
  if (!object) return false;
  if (const auto id = object->root().text(); !id.empty()) {
    if (looks_like_job_id(id)) ids.push_back(id);
    return looks_like_job_id(id);
  }
  if ((*object)["jobs"].is_array()) {
    for (const auto& job : (*object)["jobs"].items()) {
      const auto id = job["id"].text(job["job_id"].text());
      if (!looks_like_job_id(id)) return false;
      ids.push_back(id);
    }
    return true;
  }
  const auto id = (*object)["id"].text((*object)["job_id"].text());
  if (!looks_like_job_id(id)) return false;
  ids.push_back(id);
  return true;
}

client::Result<std::vector<std::string>> read_objects(std::istream& in) {
  std::vector<std::string> ids;
  std::vector<std::string> objects;
  ObjectSplitter splitter;
  std::array<char, kPiece> piece;
  while (in) {
    in.read(piece.data(), piece.size());
    const std::string_view got(piece.data(), static_cast<std::size_t>(in.gcount()));
    objects.clear();
    const bool fine = splitter.feed(got, objects);
    for (const auto& object : objects)
      if (!take_object(object, ids))
        return std::unexpected(not_ids("an object on standard input has no job id"));
    if (!fine) return std::unexpected(not_ids("standard input is not a list of jobs"));
    if (ids.size() > kMostIds) return std::unexpected(not_ids("too many jobs on standard input"));
  }
  if (!splitter.complete())
    return std::unexpected(not_ids("standard input ends within a job: the list is not complete"));
  return ids;
}

client::Result<std::vector<std::string>> read_lines(std::istream& in) {
  std::vector<std::string> ids;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    const auto begin = std::find_if_not(line.begin(), line.end(), is_space);
    const auto end = std::find_if(begin, line.end(), is_space);
    std::string word(begin, end);
    if (word.size() > 2 && word.front() == '"' && word.back() == '"')
      word = word.substr(1, word.size() - 2);
    if (word.empty()) continue;
    if (number == 1 && word == "ID") continue;
    if (!looks_like_job_id(word))
      return std::unexpected(
          not_ids(fmt::format("line {} of standard input does not begin with a job id", number)));
    ids.push_back(std::move(word));
    if (ids.size() > kMostIds) return std::unexpected(not_ids("too many jobs on standard input"));
  }
  return ids;
}

}  // namespace

bool looks_like_job_id(std::string_view word) {
  return word.size() == kIdSize && word.starts_with("job_") &&
         std::all_of(word.begin() + 4, word.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
         });
}

bool ObjectSplitter::feed(std::string_view piece, std::vector<std::string>& out) {
  for (const char c : piece) {
    if (depth_ == 0 && !in_string_) {
      if (c == '{' || (c == '"' && arrays_ > 0)) {
        depth_ = c == '{' ? 1 : 0;
        in_string_ = c == '"';
        object_ = c;
      } else if (c == '[') {
        ++arrays_;
      } else if (c == ']') {
        if (--arrays_ < 0) return false;
      } else if (!is_space(c) && c != ',') {
        return false;
      }
      continue;
    }
    object_.push_back(c);
    if (object_.size() > kMostObject) return false;
    if (in_string_) {
      in_string_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
      if (depth_ == 0 && !in_string_) out.push_back(std::exchange(object_, {}));
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      if (--depth_ == 0) out.push_back(std::move(object_));
      if (depth_ == 0) object_.clear();
    }
  }
  return true;
}

client::Result<std::vector<std::string>> read_ids(std::istream& in) {
  while (in && is_space(static_cast<char>(in.peek()))) in.get();
  const int first = in.peek();
  if (first == '{' || first == '[') return read_objects(in);
  return read_lines(in);
}

}  // namespace jobbie::cli
