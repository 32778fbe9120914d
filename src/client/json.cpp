// Builds the tree with the pull reader.
#include "client/json.hpp"

#include <charconv>
#include <cmath>

#include "base/json.hpp"
#include "base/json_reader.hpp"

namespace jobbie::client {
namespace {

/// Answers wrap payloads, which may nest as deep as the server allows.
constexpr int kDepth = base::json::kMaxDepth + 16;

}  // namespace

class JsonBuilder {
 public:
  explicit JsonBuilder(std::string_view text) : reader_(text, kDepth), text_(text) {}

  bool read(Json& out) { return value(out) && reader_.finish(); }

 private:
  // As deep as the reader allows, so the stack is bounded.
  bool value(Json& out) {
    switch (reader_.peek()) {
      case base::json::Kind::object:
        return object(out);
      case base::json::Kind::array:
        return array(out);
      case base::json::Kind::string:
        return string(out);
      case base::json::Kind::number:
        out.kind_ = Json::Kind::number;
        break;
      case base::json::Kind::boolean:
        out.kind_ = Json::Kind::boolean;
        break;
      default:
        out.kind_ = Json::Kind::null;
        break;
    }
    return reader_.value(out.raw_);
  }

  bool string(Json& out) {
    out.kind_ = Json::Kind::string;
    const std::size_t begin = reader_.position();
    std::string_view text;
    if (!reader_.string(text)) return false;
    out.string_ = text;
    out.raw_ = text_.substr(begin, reader_.position() - begin);
    return true;
  }

  bool object(Json& out) {
    out.kind_ = Json::Kind::object;
    const std::size_t begin = reader_.position();
    if (!reader_.begin_object()) return false;
    std::string_view name;
    while (reader_.next_member(name)) {
      auto& member = out.members_.emplace_back(std::string(name), Json{});
      if (!value(member.second)) return false;
    }
    out.raw_ = text_.substr(begin, reader_.position() - begin);
    return !reader_.failed();
  }

  bool array(Json& out) {
    out.kind_ = Json::Kind::array;
    const std::size_t begin = reader_.position();
    if (!reader_.begin_array()) return false;
    while (reader_.next_element())
      if (!value(out.items_.emplace_back())) return false;
    out.raw_ = text_.substr(begin, reader_.position() - begin);
    return !reader_.failed();
  }

  base::json::Reader reader_;
  std::string_view text_;
};

std::string quoted(std::string_view text) { return base::json::quote(text); }

bool is_json(std::string_view text) { return base::json::is_valid(text); }

std::string Json::text(std::string_view fallback) const {
  if (kind_ == Kind::string) return string_;
  if (kind_ == Kind::number || kind_ == Kind::boolean) return std::string(raw_);
  return std::string(fallback);
}

std::int64_t Json::integer(std::int64_t fallback) const {
  if (kind_ != Kind::number) return fallback;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(raw_.data(), raw_.data() + raw_.size(), value);
  if (error == std::errc{} && end == raw_.data() + raw_.size()) return value;
  const double inexact = number(static_cast<double>(fallback));
  return std::fabs(inexact) < 9e18 ? static_cast<std::int64_t>(inexact) : fallback;
}

double Json::number(double fallback) const {
  if (kind_ != Kind::number) return fallback;
  double value = 0;
  const auto [end, error] = std::from_chars(raw_.data(), raw_.data() + raw_.size(), value);
  return error == std::errc{} ? value : fallback;
}

bool Json::boolean(bool fallback) const {
  return kind_ == Kind::boolean ? raw_ == "true" : fallback;
}

const Json& Json::operator[](std::string_view name) const {
  static const Json kNone;
  for (const auto& [key, value] : members_)
    if (key == name) return value;
  return kNone;
}

std::optional<Document> Document::parse(std::string text) {
  Document document;
  document.text_ = std::make_unique<const std::string>(std::move(text));
  if (!JsonBuilder(*document.text_).read(document.root_)) return std::nullopt;
  return document;
}

}  // namespace jobbie::client
