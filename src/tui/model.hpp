// What `top` shows and how it is being looked at: values only.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace jobbie::tui {

struct QueueRow {
  std::string name;
  std::int64_t pending = 0, active = 0, scheduled = 0, retrying = 0, dead = 0;
  double enqueued = 0, completed = 0;  ///< a second
  std::int64_t oldest_ms = -1;
  std::string status;  ///< "paused", "draining" or nothing
};

struct WorkerRow {
  std::string id, host, queues, status;
  std::int64_t active = 0;
  std::int64_t seen_ms = 0;  ///< ago
};

struct JobRow {
  std::string id, queue, state, attempt, detail;
  std::int64_t age_ms = 0;
};

struct EventRow {
  std::string at, type, job_id, queue, detail;
};

/// Everything at one moment.
struct Snapshot {
  std::string url;
  std::string cluster;                              ///< "leader, 1 node, up 3m"
  std::string clock;                                ///< UTC, "10:00:15"
  std::string trouble;                              ///< why there is nothing new
  std::vector<double> enqueued, completed, failed;  ///< by the second, the latest last
  std::string wait_p95, run_p95;
  std::vector<QueueRow> queues;
  std::vector<WorkerRow> workers;
  std::vector<JobRow> jobs;
  std::vector<EventRow> events;     ///< the latest first
  std::vector<std::string> detail;  ///< of the job that is looked at
};

enum class View : std::uint8_t { queues, workers, jobs, events, job, help };
enum class Prompt : std::uint8_t { none, filter, command, confirm };

/// A request that a key stands for.
struct Deed {
  std::string method, target, said;
};

/// How somebody looks at it. The selected row is known by its name: rows come and go around it.
struct Look {
  View view = View::queues;
  View back = View::queues;  ///< where a job was opened from
  std::string selected;
  std::string filter;
  std::set<std::string> marked;
  std::string queue, worker, state;  ///< which jobs are listed
  std::string job_id;
  Prompt prompt = Prompt::none;
  std::string input;
  std::string message;
  std::vector<Deed> waiting;  ///< for a yes
  int scroll = 0;             ///< of the job and of help
  bool quit = false;
};

/// The names of the rows that are listed now, in order.
std::vector<std::string> listed(const Snapshot& snapshot, const Look& look);

}  // namespace jobbie::tui
