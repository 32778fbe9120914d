// What the parser makes of a whole conversation, as text; for its tests and its fuzzer.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/check.hpp"
#include "http/parser.hpp"

namespace jobbie::http {

/// The request that `parser` has completed at the front of `buffer`, in one line. Every view is
/// looked at to its last byte and must lie within the request's bytes, but for the path of a whole
/// URL without one, which is a constant.
inline std::string describe_request(const Parser& parser, std::string& buffer) {
  HeaderViews headers;
  Request request;
  parser.view(buffer, headers, request);
  const auto inside = [&](std::string_view text) {
    const char* const begin = buffer.data();
    return text.empty() ||
           (text.data() >= begin && text.data() + text.size() <= begin + parser.consumed());
  };
  JOBBIE_CHECK(inside(request.target) && inside(request.query) && inside(request.body));
  JOBBIE_CHECK(inside(request.path) || request.path == "/");
  std::string out = fmt::format("{} {} path={} query={} {}", request.method_text, request.target,
                                request.path, request.query, request.keep_alive ? "keep" : "close");
  for (const Header& header : request.headers) {
    JOBBIE_CHECK(inside(header.name) && inside(header.value));
    out += fmt::format(" [{}={}]", header.name, header.value);
  }
  return out + fmt::format(" body={}\n", request.body);
}

/// Feeds `input` in pieces, whose lengths `next_piece(left)` gives (at least 1), as a connection
/// does. One line for each request, and a last one for how it ended.
template <typename NextPiece>
std::string transcript(std::string_view input, const Limits& limits, NextPiece&& next_piece) {
  std::string out;
  std::string buffer;
  Parser parser(limits);
  while (!input.empty()) {
    const std::size_t piece = std::clamp<std::size_t>(next_piece(input.size()), 1, input.size());
    buffer.append(input.substr(0, piece));
    input.remove_prefix(piece);
    while (!buffer.empty()) {
      const Parser::Step step = parser.feed(buffer);
      if (step == Parser::Step::more) {
        buffer.resize(parser.compact(buffer));
        break;
      }
      if (step == Parser::Step::bad)
        return out + fmt::format("{} {}\n", parser.fault().status, parser.fault().code);
      if (step == Parser::Step::head) continue;
      out += describe_request(parser, buffer);
      buffer.erase(0, parser.consumed());
      parser.reset();
    }
  }
  if (buffer.empty()) return out + "end\n";
  return out + (parser.in_body() ? "in body\n" : "in head\n");
}

}  // namespace jobbie::http
