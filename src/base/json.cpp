// The few operations on whole JSON texts, built on the reader and the writer.
#include "base/json.hpp"

#include "base/json_reader.hpp"
#include "base/json_text.hpp"
#include "base/json_writer.hpp"

namespace jobbie::base::json {
namespace {

/// One member of an object: views into the object's text, except for a name with escapes.
struct Member {
  std::string_view name;   ///< escapes resolved
  std::string_view value;  ///< without space around it
  std::string_view whole;  ///< from the name's opening quote to the value's end
};

/// Calls `f` for each member of the object that `text` must be; whether it was one. Faults may show
/// only after `f` was called, so the caller must drop what it gathered on false.
template <typename F>
bool for_each_member(std::string_view text, F&& f) {
  Reader reader(text);
  if (!reader.begin_object()) return false;
  std::string_view name;
  while (reader.next_member(name)) {
    const std::size_t begin = reader.name_position();
    std::string_view value;
    if (!reader.value(value)) return false;
    f(Member{.name = name, .value = value, .whole = text.substr(begin, reader.position() - begin)});
  }
  return reader.finish();
}

bool is_one_value(std::string_view text, int max_depth) {
  Reader reader(text, max_depth);
  std::string_view raw;
  return reader.value(raw) && reader.finish();
}

}  // namespace

bool is_valid(std::string_view text) { return is_one_value(text, kMaxDepth); }

bool is_object(std::string_view text) {
  return Reader(text).peek() == Kind::object && is_valid(text);
}

std::optional<std::string> member(std::string_view object, std::string_view key) {
  std::optional<std::string_view> found;
  const bool valid = for_each_member(object, [&](const Member& member) {
    if (member.name == key) found = member.value;
  });
  if (!valid || !found) return std::nullopt;
  return std::string(*found);
}

std::optional<std::string> with_member(std::string_view object, std::string_view key,
                                       std::string_view value) {
  // The result must be valid too: so the key must be text, and the value one level less deep.
  if (!text::is_utf8(key) || !is_one_value(value, kMaxDepth - 1)) return std::nullopt;

  std::string out = "{";
  out.reserve(object.size() + key.size() + value.size() + 8);
  const auto keep = [&](const Member& member) {
    if (member.name != key) out.append(member.whole).push_back(',');
  };
  if (!object.empty() && !for_each_member(object, keep)) return std::nullopt;
  append_quoted(out, key);
  out.append(":").append(value).append("}");
  return out;
}

std::string quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_quoted(out, text);
  return out;
}

}  // namespace jobbie::base::json
