// A job's log as a stream: what is there, then what comes, until the job has ended. Private to the
// folder.
#pragma once

#include <cstdint>

#include "call/call.hpp"
#include "face/native/event_hub.hpp"

namespace jobbie::face::native {

/// Lines come from the database, so the stream of events only says when to look again. One question
/// is under way at a time.
class LogStream final : public Watcher {
 public:
  LogStream(EventHub& hub, std::uint64_t number, http::Responder responder, const LogFollow& wanted,
            call::EventPosition at);

  Standing serve(EventPages& pages) override;
  void beat() override;

  /// What the node answered.
  void take(call::Trouble trouble, const call::Answer& answer);

 private:
  void ask();
  void write_lines(const call::JobLog& log);

  EventHub& hub_;
  std::uint64_t number_;
  http::Responder responder_;  ///< until the job is known to exist
  http::Stream stream_;
  LogFollow wanted_;
  call::EventPosition at_;
  bool begun_ = false;
  bool asking_ = false;
  bool look_again_ = true;
  bool over_ = false;
};

}  // namespace jobbie::face::native
