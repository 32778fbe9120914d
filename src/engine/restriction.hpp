// What the key of some commands keeps their caller from: other queues than its own.
//
// command::Restrict begins it for the commands that follow in the same entry. It refers to that
// command's queues, so it must have ended before the entry goes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/glob.hpp"
#include "command/command.hpp"

namespace jobbie::engine {

class Restriction {
 public:
  void begin(const command::Restrict& c) {
    queues_ = &c.queues;
    key_ = c.key;
    commands_left_ = std::uint64_t{c.commands} + 1;  // the one that begins it counts as well
  }
  void command_done() {
    if (commands_left_ > 0) --commands_left_;
  }
  void end() { *this = {}; }

  [[nodiscard]] bool is_active() const { return commands_left_ > 0; }
  /// Nil while it is not active.
  [[nodiscard]] base::KeyId key() const { return is_active() ? key_ : base::KeyId{}; }
  /// It must be active to be asked for these: whether the key is for the queue, and for all that
  /// the worker listens on.
  [[nodiscard]] bool allows(std::string_view queue) const {
    return base::matches_any(*queues_, queue);
  }
  [[nodiscard]] bool covers(const model::WorkerSpec& worker) const {
    const auto covered = [this](const base::Blob& pattern) {
      return std::any_of(queues_->begin(), queues_->end(), [&](const base::Blob& mine) {
        return base::glob_covers(mine.view(), pattern.view());
      });
    };
    return std::all_of(worker.queues.begin(), worker.queues.end(), covered);
  }

 private:
  const std::vector<base::Blob>* queues_ = nullptr;
  std::uint64_t commands_left_ = 0;
  base::KeyId key_;
};

}  // namespace jobbie::engine
