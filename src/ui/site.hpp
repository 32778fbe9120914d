// Serves the web UI under /ui, and stands before the API as far as browsers are concerned: a page
// of another origin may not change anything here, and none may come by a stranger's name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  /// `names`: by which names browsers may come, besides our own; nothing: by any.
  explicit Site(http::Handler& api, std::optional<std::vector<std::string>> names = {})
      : api_(api), names_(std::move(names)) {}

  void handle(const http::Request& request, http::Responder responder) override;
  [[nodiscard]] http::RequestBounds bounds(http::Method method,
                                           std::string_view path) const override;

 private:
  http::Handler& api_;
  std::optional<std::vector<std::string>> names_;
};

}  // namespace jobbie::ui
