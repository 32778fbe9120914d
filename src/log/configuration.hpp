// Who belongs to the cluster: the members, and the changes that make one configuration of another.
//
// A change is an entry of the log and touches one member, so every node computes the same result.
// The Raft core knows ids, voters and learners; names and addresses are ours and travel in the
// change's context. Whatever is decoded here may come from a peer or from a disk: no length is
// trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace jobbie::log {

inline constexpr std::size_t kMaxMembers = 32;
inline constexpr std::size_t kMaxMemberNameBytes = 128;
inline constexpr std::size_t kMaxMemberAddressBytes = 256;
/// No encoded configuration is larger; a log's record has to have place for one.
inline constexpr std::size_t kMaxConfigurationBytes = 24u << 10;

struct Member {
  std::uint64_t id = 0;  ///< never 0, and never used again once removed
  std::string name;      ///< by which people know it
  std::string address;   ///< of its cluster port
  std::string http;      ///< of its HTTP port
  bool voter = false;    ///< else a learner: gets the log and does not count
  bool operator==(const Member&) const = default;
};

struct Configuration {
  std::uint64_t cluster_id = 0;  ///< 0: a log from before there were clusters
  std::vector<Member> members;   ///< by id

  [[nodiscard]] const Member* find(std::uint64_t id) const;
  [[nodiscard]] const Member* find_name(std::string_view name) const;
  [[nodiscard]] std::size_t voter_count() const;
  [[nodiscard]] bool is_voter(std::uint64_t id) const;
  bool operator==(const Configuration&) const = default;
};

struct Change {
  enum class Kind : std::uint8_t {
    add_learner = 1,  ///< of all but `voter`
    promote = 2,      ///< by id: a learner becomes a voter
    remove = 3,       ///< by id
    update = 4,       ///< name and addresses of the member with that id
  };
  Kind kind = Kind::add_learner;
  Member member;
  bool operator==(const Change&) const = default;
};

/// The configuration after a change. Applying it a second time does nothing, and neither does a
/// change that makes no sense: of a stranger, one member too many, the removal of the last voter.
[[nodiscard]] Configuration apply(Configuration configuration, const Change& change);

/// Nothing if a log can begin with it: members by id and within their bounds, at least one voter.
/// Else `bad_configuration`, and what is wrong.
[[nodiscard]] base::Result<void> check(const Configuration& configuration);
[[nodiscard]] base::Result<void> check(const Member& member);

[[nodiscard]] std::string encode(const Configuration& configuration);
[[nodiscard]] std::string encode(const Change& change);
/// `bad_configuration`, or `unknown_version` if a newer version wrote it.
[[nodiscard]] base::Result<Configuration> decode_configuration(std::string_view bytes);
[[nodiscard]] base::Result<Change> decode_change(std::string_view bytes);

/// What an entry of the log holds that changes the configuration: a ConfChangeV2 of raft-rs in
/// protobuf form, with one change, and ours as its context. `before` is what it will be applied to.
[[nodiscard]] std::string encode_entry(const Configuration& before, const Change& change);
[[nodiscard]] base::Result<Change> decode_entry(std::string_view bytes);

/// The core's view of it: a ConfState of raft-rs in protobuf form.
[[nodiscard]] std::string conf_state_of(const Configuration& configuration);

/// A configuration and the place from which on it holds, as a log remembers it.
struct Configured {
  Configuration configuration;
  std::uint64_t index = 0;  ///< of the entry that made it
  /// This node belongs to it, or to one before it.
  bool joined = false;
  bool operator==(const Configured&) const = default;
};

[[nodiscard]] std::string encode(const Configured& configured);
[[nodiscard]] base::Result<Configured> decode_configured(std::string_view bytes);

}  // namespace jobbie::log
