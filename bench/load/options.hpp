// What a run of the load generator is asked to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>

namespace jobbie::bench::load {

enum class Mode : std::uint8_t {
  both,     ///< producers and workers at once, a bounded number of jobs between them
  enqueue,  ///< producers only, for a time or a number of jobs
  consume,  ///< workers only, for a time or until nothing is left
  latency,  ///< producers at a fixed rate, workers that wait; from enqueue to start
  probe,    ///< what this machine does just now, without any server
};

struct Options {
  Mode mode = Mode::both;
  std::string dialect = "jobbie";
  std::uint16_t port = 8080;
  std::size_t producers = 50;
  std::size_t workers = 50;
  std::size_t put_batch = 1;   ///< jobs in one enqueue
  std::size_t take_batch = 1;  ///< jobs in one fetch, and acked together
  bool merge = false;          ///< ack and fetch the next in one request
  double seconds = 5;
  double warm_up_seconds = 1;
  std::uint64_t jobs = 0;       ///< enqueue and consume: end after that many; 0: by time alone
  std::uint64_t backlog = 0;    ///< both: jobs that are there already and are to stay
  std::uint64_t window = 1000;  ///< both: jobs enqueued and not acked, beyond the backlog
  double rate = 100;            ///< latency: jobs a second
  std::string directory = ".";  ///< probe: where the disk is tried
};

/// The options of a command line, or what is wrong with it.
[[nodiscard]] std::expected<Options, std::string> read_options(int count, char** arguments);

}  // namespace jobbie::bench::load
