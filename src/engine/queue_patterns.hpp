// Which queues a glob matches, remembered for the patterns that claims use.
//
// A pattern that is new looks at every queue once; from then on it looks at those that have come
// since it was last used. All this is a memo and no state: it changes no outcome, only when the
// work is done. `look` does a part of the work ahead of the claim that will need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/blob.hpp"
#include "base/glob.hpp"
#include "engine/queue_heads.hpp"
#include "engine/queue_state.hpp"

namespace jobbie::engine {

class QueuePatterns {
 public:
  explicit QueuePatterns(std::uint64_t hash_seed) : patterns_(0, TextHash{hash_seed}) {}

  /// A queue has come, perhaps in the slot of one that has gone.
  void add(std::uint32_t slot, const base::Blob& name);
  /// A queue has gone. Sets go on holding its slot until another takes it: it has no jobs.
  void remove(std::uint32_t slot) { names_[slot] = {}; }

  /// The queues that `pattern` matches. Good until the next call.
  [[nodiscard]] const QueueSet& matches(std::string_view pattern);

  /// Looks at up to `budget` names for `pattern`, and takes them off it; whether it knows all now.
  [[nodiscard]] bool look(std::string_view pattern, std::size_t& budget);

  [[nodiscard]] std::size_t size() const { return patterns_.size(); }

  /// Patterns remembered; the one that was used longest ago makes room for another.
  static constexpr std::size_t kMostPatterns = 1024;

 private:
  struct Pattern {
    explicit Pattern(std::string_view text) : glob(text) {}
    base::Glob glob;
    QueueSet matches;
    std::uint32_t next_slot = 0;  ///< of the queues there were at first: those before are looked at
    std::uint32_t end_slot = 0;
    std::uint64_t seen = 0;  ///< of the queues that came since
    std::uint64_t used = 0;  ///< when
  };

  Pattern& find(std::string_view text);
  void make_room();
  void begin_again(Pattern& pattern);
  bool advance(Pattern& pattern, std::size_t& budget);
  void look_at(Pattern& pattern, std::uint32_t slot);

  std::vector<base::Blob> names_;     ///< of queues, by slot; empty: there is none
  std::vector<std::uint32_t> added_;  ///< slots in the order in which queues came: the latest
  std::uint64_t forgotten_ = 0;       ///< that came before those
  std::uint64_t clock_ = 0;
  TextMap<Pattern> patterns_;
};

}  // namespace jobbie::engine
