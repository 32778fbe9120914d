// JSON as the server sends it: a tree whose every node still has its text, byte for byte.
//
// Numbers are not touched until somebody asks for one, so 9007199254740993 stays what it is.
// Looking for what is not there gives a null, never a fault.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jobbie::client {

/// `text` as a JSON string literal with quotes; bytes that are not UTF-8 become U+FFFD.
std::string quoted(std::string_view text);

/// Whether `text` is exactly one JSON value.
bool is_json(std::string_view text);

/// One value of a Document, which must outlive it.
class Json {
 public:
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool is_object() const { return kind_ == Kind::object; }
  bool is_array() const { return kind_ == Kind::array; }

  /// The text it was read from, without space around it.
  std::string_view raw() const { return raw_; }

  /// Of a string its characters, of other scalars their text, of null and containers `fallback`.
  std::string text(std::string_view fallback = {}) const;
  std::int64_t integer(std::int64_t fallback = 0) const;
  double number(double fallback = 0) const;
  bool boolean(bool fallback = false) const;

  /// A member of an object; null where there is none.
  const Json& operator[](std::string_view name) const;
  /// Elements of an array, or nothing.
  const std::vector<Json>& items() const { return items_; }
  const std::vector<std::pair<std::string, Json>>& members() const { return members_; }

 private:
  friend class JsonBuilder;
  Kind kind_ = Kind::null;
  std::string_view raw_ = "null";
  std::string string_;
  std::vector<Json> items_;
  std::vector<std::pair<std::string, Json>> members_;
};

/// Owns the text of a tree.
class Document {
 public:
  Document() : text_(std::make_unique<const std::string>("null")) {}
  /// Nothing if it is not JSON.
  static std::optional<Document> parse(std::string text);

  const Json& root() const { return root_; }
  const Json& operator[](std::string_view name) const { return root_[name]; }
  std::string_view raw() const { return root_.raw(); }

 private:
  /// The address stays when the document moves; the nodes look into it.
  std::unique_ptr<const std::string> text_;
  Json root_;
};

}  // namespace jobbie::client
