// The little that the core needs to know of JSON: where a member's value stands, and joining
// objects.
//
// Payloads stay the bytes that the caller sent (2^53+1 and 1.0 survive); nothing here builds a tree
// or touches a number. Every function is total: text that is not JSON gives "nothing", never a
// fault.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace jobbie::base::json {

/// How deep values may nest.
inline constexpr int kMaxDepth = 64;

/// Whether `text` is exactly one JSON value (RFC 8259, UTF-8, depth within kMaxDepth).
bool is_valid(std::string_view text);

/// Whether `text` is exactly one JSON object.
bool is_object(std::string_view text);

/// The raw text of the value of member `key` of the object `text`; the last one where it occurs
/// twice. Keys are compared after resolving escapes. Nothing if absent or not an object.
std::optional<std::string> member(std::string_view object, std::string_view key);

/// `object` (an object, or empty for `{}`) with member `key` set to `value`: an existing member of
/// that name is left out, and the new one stands last. Nothing if `object` is not an object.
std::optional<std::string> with_member(std::string_view object, std::string_view key,
                                       std::string_view value);

/// The same text for every spelling of one value: no space, no escape that need not be, numbers by
/// their worth (1, 1.0 and 10e-1), members by name and once. Text that is not JSON stays as it is.
std::string canonical(std::string_view text);

/// `text` as a JSON string literal with quotes.
std::string quote(std::string_view text);

}  // namespace jobbie::base::json
