// `?consistency=strong`: a read that shows everything that was acknowledged before it, by whatever
// node of the cluster.
#pragma once

#include <expected>
#include <string>

#include "face/problem.hpp"
#include "http/message.hpp"

namespace jobbie::face::native {

/// A request without its `consistency`, and what that said.
struct Consistency {
  http::Request request;  ///< its query is a view of `rest`, where something was taken out of it
  std::string rest;
  bool strong = false;

  Consistency() = default;
  Consistency(const Consistency&) = delete;
  Consistency& operator=(const Consistency&) = delete;
  Consistency(Consistency&& other) noexcept;
  Consistency& operator=(Consistency&&) = delete;
  ~Consistency() = default;
};

/// Of a request that may have it.
[[nodiscard]] std::expected<Consistency, Problem> take_consistency(const http::Request& request);

}  // namespace jobbie::face::native
