// What is answered at /ui and at /, and what is refused.
#include "ui/site.hpp"

#include <algorithm>
#include <utility>

#include "http/problem.hpp"
#include "ui/files.hpp"
#include "ui/host_names.hpp"

namespace jobbie::ui {
namespace {

using http::Method;
using http::Request;
using http::Response;

constexpr std::string_view kRoot = "/ui";
constexpr std::string_view kAssets = "assets/";
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

bool reads(Method method) { return method == Method::get || method == Method::head; }

const File* find(std::string_view path) {
  const auto all = files();
  const auto found = std::ranges::lower_bound(all, path, {}, &File::path);
  return found != all.end() && found->path == path ? &*found : nullptr;
}

/// Whether a list such as `gzip, br;q=0.5` names `wanted`. `gzip;q=0` refuses it.
bool lists(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    const auto item = http::trim(list.substr(0, comma));
    const auto semicolon = item.find(';');
    const auto name = http::trim(item.substr(0, semicolon));
    if (http::equal_ignoring_case(name, wanted)) {
      if (semicolon == std::string_view::npos) return true;
      const auto weight = http::trim(item.substr(semicolon + 1));
      return weight.find_first_of("123456789") != std::string_view::npos;
    }
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  return false;
}

void add_guards(Response& response) {
  response.headers.emplace_back("content-security-policy", kPolicy);
  response.headers.emplace_back("referrer-policy", "no-referrer");
  response.headers.emplace_back("cross-origin-opener-policy", "same-origin");
}

Response redirect(std::string_view to) {
  Response response{.status = 302, .content_type = {}, .body = {}, .headers = {}};
  response.headers.emplace_back("location", to);
  response.headers.emplace_back("vary", "accept");
  return response;
}

Response refusal(int status, std::string_view code, std::string_view detail) {
  return http::problem_response({.status = status, .code = code, .detail = detail, .field = {}});
}

Response serve(const File& file, const Request& request) {
  Response response{.status = 200, .content_type = file.content_type, .body = {}, .headers = {}};
  add_guards(response);
  response.headers.emplace_back("etag", file.etag);
  response.headers.emplace_back("vary", "accept-encoding");
  response.headers.emplace_back(
      "cache-control", file.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  if (request.header("if-none-match").find(file.etag) != std::string_view::npos) {
    response.status = 304;
    return response;
  }
  if (lists(request.header("accept-encoding"), "gzip")) {
    response.headers.emplace_back("content-encoding", "gzip");
    response.body = file.gzip;
  } else {
    response.body = file.plain;
  }
  return response;
}

}  // namespace

bool is_cross_origin(const Request& request) {
  const auto site = request.header("sec-fetch-site");
  if (!site.empty()) return site != "same-origin" && site != "none";
  const auto origin = request.header("origin");
  if (origin.empty()) return false;
  const auto scheme = origin.find("://");
  const auto host = scheme == std::string_view::npos ? origin : origin.substr(scheme + 3);
  return !http::equal_ignoring_case(host, request.header("host"));
}

std::optional<Response> answer(const Request& request) {
  if (!reads(request.method) && is_cross_origin(request))
    return refusal(403, "cross_origin", "A page of another origin may not change anything here.");
  if (request.path == "/" && reads(request.method) && lists(request.header("accept"), "text/html"))
    return redirect("/ui/");
  if (!request.path.starts_with(kRoot)) return std::nullopt;
  auto path = request.path.substr(kRoot.size());
  if (!path.empty() && path.front() != '/') return std::nullopt;
  if (!reads(request.method)) {
    auto response = refusal(405, "method_not_allowed", "The UI answers GET and HEAD only.");
    response.headers.emplace_back("allow", "GET, HEAD");
    return response;
  }
  if (path.empty()) return redirect("/ui/");
  path.remove_prefix(1);
  if (const File* file = find(path)) return serve(*file, request);
  // A screen's address is the program's own affair; an asset of another version is gone.
  if (path.starts_with(kAssets))
    return refusal(404, "not_found", "This file is of another version of the UI.");
  return serve(*find("index.html"), request);
}

void Site::handle(const Request& request, http::Responder responder) {
  if (names_ && is_foreign_name(request, *names_))
    return responder.send(
        refusal(403, "foreign_host",
                "Browsers reach this server as localhost or by its address; other "
                "names are allowed by --allow-host."));
  if (auto response = answer(request)) return responder.send(*std::move(response));
  api_.handle(request, std::move(responder));
}

http::RequestBounds Site::bounds(Method method, std::string_view path) const {
  return api_.bounds(method, path);
}

}  // namespace jobbie::ui
