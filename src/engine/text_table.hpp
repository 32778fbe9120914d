// Interned texts: queue names, keys and kinds become dense 32-bit ids for as long as they are used.
//
// Each text is held once, with a count of references; equal texts have equal ids, so the engine
// compares and stores numbers. Ids start at 1 (0 is none) and freed ones are reused last in, first
// out. Like slots, they differ between replicas and so must not decide any order or outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/blob.hpp"
#include "base/check.hpp"
#include "base/hash.hpp"
#include "engine/sequence_index.hpp"
#include "engine/slab.hpp"

namespace jobbie::engine {

/// Single-threaded. Texts are found through a ScatteredIndex over 48 bits of their hash, which
/// grows in small steps, so that a million distinct keys never cost one long rehash. Texts whose 48
/// bits are equal hang on one chain. `seed` varies the hash; it has no effect that a caller can
/// see.
class TextTable {
 public:
  static constexpr std::uint32_t kNone = 0;

  explicit TextTable(std::uint64_t seed = 0) : seed_(seed) {}

  /// The id of `text` (which may be empty), with one reference more.
  [[nodiscard]] std::uint32_t acquire(std::string_view text) {
    const std::uint64_t key = key_of(text);
    const std::uint32_t head = index_.find(key);
    std::uint32_t id = find_in_chain(head, text);
    if (id == kNone) {
      id = entries_.allocate(base::Blob(text), head);
      index_.set(key, id);
      text_bytes_ += text.size();
    }
    add_reference(id);
    return id;
  }

  /// One reference more to an id in use.
  void add_reference(std::uint32_t id) {
    Entry& entry = live_entry(id);
    JOBBIE_CHECK(entry.references < std::numeric_limits<std::uint32_t>::max());
    ++entry.references;
  }

  /// One reference less; with the last one the text is forgotten and its id is free.
  void release(std::uint32_t id) {
    Entry& entry = live_entry(id);
    if (--entry.references > 0) return;
    unlink(id);
    text_bytes_ -= entry.text.size();
    entries_.release(id);
  }

  /// The id of `text`, or kNone if nobody holds it.
  [[nodiscard]] std::uint32_t find(std::string_view text) const {
    return find_in_chain(index_.find(key_of(text)), text);
  }

  /// The text of an id in use. The reference is good until the id's last release.
  [[nodiscard]] const base::Blob& text(std::uint32_t id) const { return live_entry(id).text; }

  [[nodiscard]] std::uint32_t references(std::uint32_t id) const {
    return live_entry(id).references;
  }

  /// How many distinct texts are held.
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  [[nodiscard]] std::size_t capacity_bytes() const {
    return entries_.capacity_bytes() + index_.capacity_bytes() + text_bytes_ +
           entries_.size() * base::Blob::kHeaderBytes;
  }

 private:
  struct Entry {
    base::Blob text;
    std::uint32_t next = kNone;  ///< the next id on the chain of this hash
    std::uint32_t references = 0;
  };

  [[nodiscard]] Entry& live_entry(std::uint32_t id) {
    JOBBIE_CHECK(entries_.is_live(id));
    return entries_[id];
  }
  [[nodiscard]] const Entry& live_entry(std::uint32_t id) const {
    JOBBIE_CHECK(entries_.is_live(id));
    return entries_[id];
  }

  [[nodiscard]] std::uint64_t key_of(std::string_view text) const {
    const std::uint64_t key = base::hash_bytes(text, seed_) >> 16;
    return key == 0 ? 1 : key;  // 0 is the index's empty mark
  }

  [[nodiscard]] std::uint32_t find_in_chain(std::uint32_t head, std::string_view text) const {
    std::uint32_t id = head;
    while (id != kNone && entries_[id].text.view() != text) id = entries_[id].next;
    return id;
  }

  void unlink(std::uint32_t id) {
    const std::uint64_t key = key_of(entries_[id].text.view());
    const std::uint32_t next = entries_[id].next;
    const std::uint32_t head = index_.find(key);
    if (head != id) {
      std::uint32_t before = head;
      while (entries_[before].next != id) before = entries_[before].next;
      entries_[before].next = next;
    } else if (next != kNone) {
      index_.set(key, next);
    } else {
      index_.erase(key);
    }
  }

  std::uint64_t seed_;
  Slab<Entry> entries_;
  ScatteredIndex index_;
  std::size_t text_bytes_ = 0;
};

}  // namespace jobbie::engine
