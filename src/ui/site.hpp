// Serves the web UI under /ui, and stands before the API as far as browsers are concerned: a page
// of another origin may not change anything here.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "http/message.hpp"
#include "http/server.hpp"

namespace jobbie::ui {

/// Whether a browser sent this on behalf of a page that did not come from here.
[[nodiscard]] bool is_cross_origin(const http::Request& request);

/// The answer to a request that concerns the UI; nothing: it is for the API.
[[nodiscard]] std::optional<http::Response> answer(const http::Request& request);

/// Hands on what is not for the UI. `api` must outlive it.
class Site final : public http::Handler {
 public:
  explicit Site(http::Handler& api) : api_(api) {}

  void handle(const http::Request& request, http::Responder responder) override;
  [[nodiscard]] std::optional<std::size_t> body_limit(http::Method method,
                                                      std::string_view path) const override;

 private:
  http::Handler& api_;
};

}  // namespace jobbie::ui
