// Reading the command line.
#include "bench/load/options.hpp"

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "bench/load/dialect.hpp"

namespace jobbie::bench::load {
namespace {

constexpr std::size_t kMostConnections = 10'000;
constexpr std::size_t kMostBatch = 10'000;

std::string usage() {
  return fmt::format(
      "usage: bench_load --mode both|enqueue|consume|latency|probe [--dialect {}] [--port N]\n"
      "  [--producers N] [--workers N] [--put-batch N] [--take-batch N] [--merge] [--seconds S]\n"
      "  [--warm-up S] [--jobs N] [--backlog N] [--window N] [--rate PER_SECOND] [--directory D]",
      dialect_names());
}

std::optional<Mode> read_mode(std::string_view text) {
  if (text == "both") return Mode::both;
  if (text == "enqueue") return Mode::enqueue;
  if (text == "consume") return Mode::consume;
  if (text == "latency") return Mode::latency;
  if (text == "probe") return Mode::probe;
  return std::nullopt;
}

template <typename Number>
bool read_into(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && out >= Number{0};
}

bool read_one(std::string_view name, std::string_view value, Options& out) {
  if (name == "--mode") {
    const auto mode = read_mode(value);
    out.mode = mode.value_or(out.mode);
    return mode.has_value();
  }
  if (name == "--dialect") {
    out.dialect = value;
    return make_dialect(value, {}) != nullptr;
  }
  if (name == "--directory") {
    out.directory = value;
    return true;
  }
  if (name == "--port") return read_into(value, out.port);
  if (name == "--producers") return read_into(value, out.producers);
  if (name == "--workers") return read_into(value, out.workers);
  if (name == "--put-batch") return read_into(value, out.put_batch);
  if (name == "--take-batch") return read_into(value, out.take_batch);
  if (name == "--seconds") return read_into(value, out.seconds);
  if (name == "--warm-up") return read_into(value, out.warm_up_seconds);
  if (name == "--jobs") return read_into(value, out.jobs);
  if (name == "--backlog") return read_into(value, out.backlog);
  if (name == "--window") return read_into(value, out.window);
  if (name == "--rate") return read_into(value, out.rate);
  return false;
}

bool in_bounds(const Options& o) {
  return o.producers <= kMostConnections && o.workers <= kMostConnections && o.put_batch >= 1 &&
         o.put_batch <= kMostBatch && o.take_batch >= 1 && o.take_batch <= kMostBatch &&
         o.window >= o.put_batch && o.rate > 0;
}

}  // namespace

std::expected<Options, std::string> read_options(int count, char** arguments) {
  Options out;
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (name == "--merge") {
      out.merge = true;
    } else if (i + 1 == count || !read_one(name, arguments[++i], out)) {
      return std::unexpected(fmt::format("not understood: {}\n{}", name, usage()));
    }
  }
  if (!in_bounds(out)) return std::unexpected(usage());
  if (out.mode == Mode::enqueue) out.workers = 0;
  if (out.mode == Mode::consume) out.producers = 0;
  return out;
}

}  // namespace jobbie::bench::load
