// What the management endpoints share: plain actions, lists and single records. Private to the
// folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json_writer.hpp"
#include "call/call.hpp"
#include "face/body.hpp"
#include "face/exchange.hpp"
#include "face/native/endpoints.hpp"
#include "face/native/values.hpp"
#include "face/parameters.hpp"

namespace jobbie::face::native {

/// Rows of one answer to a list.
inline constexpr std::size_t kMostRows = 1000;

/// An action takes no parameters and no members; a body may be left out or be `{}`.
[[nodiscard]] std::optional<Problem> refuse_details(const Input& input);

/// An action on a queue, a group or a worker: `{"queue": "emails", "status": "paused"}`.
struct Told {
  std::string_view subject;  ///< the member that names what was acted on
  std::string_view name;
  std::string_view status;
  bool affected = false;  ///< tell also how many jobs were meant
  int code = 200;
};
[[nodiscard]] Outcome act(const Input& input, command::Command command, const Told& told);

/// The answer to a command that gives Done: a JSON object that is known beforehand, but for the
/// number of jobs.
class Acted final : public Exchange {
 public:
  Acted(call::Inbox& inbox, int code, bool affected)
      : Exchange(inbox), code_(code), affected_(affected) {}
  std::string text;  ///< the object without its closing bracket

 private:
  void render(Answer& out) const override;

  int code_;
  bool affected_;
};

/// Checks the command, and makes a call of it; `exchange` is empty otherwise.
[[nodiscard]] Outcome call_with(std::unique_ptr<Exchange> exchange, command::Command command);

/// How one kind of record is shown.
template <typename Record>
struct Shape {
  std::string_view list;  ///< the member that holds the rows
  std::string_view what;  ///< in "There is no … of that name."
  void (*write)(base::json::Writer& json, const Record& record, base::Instant now);
  std::string (*name)(const Record& record);
  /// Where a record belongs to a queue: that. Keys for other queues do not see it.
  const base::Blob& (*queue)(const Record& record) = nullptr;
  /// Where a record tells of several queues: how it is written for a key that is not for all.
  void (*write_part)(base::json::Writer& json, const Record& record, base::Instant now,
                     const call::Principal& principal) = nullptr;

  void write_for(base::json::Writer& json, const Record& record, base::Instant now,
                 const call::Principal& principal) const {
    if (write_part != nullptr && call::is_restricted(principal))
      write_part(json, record, now, principal);
    else
      write(json, record, now);
  }
};

/// `{"queues": […], "cursor": …, "has_more": …}`.
template <typename Record>
class ListExchange final : public Exchange {
 public:
  ListExchange(call::Inbox& inbox, const Shape<Record>& shape) : Exchange(inbox), shape_(shape) {}

 private:
  void render(Answer& out) const override {
    const auto* page = std::get_if<call::Page<Record>>(&answer);
    if (page == nullptr) return face::write(Problem{}, out);
    base::json::Writer json(out.body);
    json.begin_object();
    json.member(shape_.list).begin_array();
    for (const auto& row : page->rows)
      if (!shape_.queue || may_show(shape_.queue(row)))
        shape_.write_for(json, row, page->now, principal);
    json.end_array();
    json.member("cursor");
    if (page->more && !page->rows.empty())
      json.plain(cursor_after(shape_.list, shape_.name(page->rows.back())));
    else
      json.null();
    json.member("has_more").boolean(page->more);
    json.end_object();
  }

  const Shape<Record>& shape_;
};

/// The one record that was asked for, or a 404.
template <typename Record>
class OneExchange final : public Exchange {
 public:
  OneExchange(call::Inbox& inbox, const Shape<Record>& shape, std::string_view asked)
      : Exchange(inbox), shape_(shape), asked_(shown(asked)) {}

 private:
  void render(Answer& out) const override {
    const auto* page = std::get_if<call::Page<Record>>(&answer);
    if (page == nullptr) return face::write(Problem{}, out);
    if (page->rows.empty() || (shape_.queue && !may_show(shape_.queue(page->rows.front()))))
      return face::write(not_found(shape_.what, asked_), out);
    base::json::Writer json(out.body);
    shape_.write_for(json, page->rows.front(), page->now, principal);
  }

  const Shape<Record>& shape_;
  std::string asked_;
};

/// The page of `list` that `?cursor=&limit=&prefix=&glob=` asks for.
[[nodiscard]] std::expected<call::NamePage, Problem> read_page(const Input& input,
                                                               std::string_view list);

}  // namespace jobbie::face::native
