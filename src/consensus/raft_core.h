/* The C interface of the Raft core, a static library made of the crate in raft_core/.
 *
 * Step in, output out: no thread, clock, lock or I/O inside. One raft_core is one replica and
 * belongs to one thread. Every pointer that comes out is valid until the next call that takes the
 * same core. Functions give RAFT_CORE_OK or one of the negative codes unless they say otherwise,
 * and leave a sentence in raft_core_error. A broken invariant inside aborts the process: what a
 * core holds after one cannot be trusted.
 *
 * C++ code uses consensus/core.hpp instead. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct raft_core raft_core;

enum {
  RAFT_CORE_OK = 0,
  RAFT_CORE_DROPPED = -1, /* a proposal that is not taken now */
  RAFT_CORE_UNKNOWN_PEER = -2,
  RAFT_CORE_CONF_CHANGE = -3, /* a change of configuration that cannot be applied */
  RAFT_CORE_MALFORMED = -4,
  RAFT_CORE_MISUSE = -5,
  RAFT_CORE_OTHER = -6
};

typedef struct {
  const char* data;
  size_t bytes;
} raft_core_slice;

typedef struct {
  uint64_t index;
  uint64_t term;
  const char* data;
  size_t bytes;
  uint32_t type; /* 0 plain, 1 and 2 changes of configuration */
} raft_core_entry;

typedef struct {
  uint64_t first_index;
  uint64_t term;
} raft_core_term_run;

/* Pushes entries of [low, high) into sink, in order: at least one, further ones while the whole
 * comes to no more than max_bytes. Gives 0, or anything else when the log cannot be read. */
typedef int (*raft_core_fetch)(void* context, uint64_t low, uint64_t high, uint64_t max_bytes,
                               void* sink);

typedef struct {
  uint64_t id;
  uint64_t election_ticks;
  uint64_t heartbeat_ticks;
  uint64_t max_message_bytes;
  uint64_t max_inflight_messages;
  uint64_t max_committed_bytes_per_ready;
  uint64_t max_uncommitted_bytes;
  uint64_t seed; /* of the election time-outs */
  uint64_t applied;
  uint64_t term;
  uint64_t vote;
  uint64_t commit;     /* base_index <= applied <= commit <= last_index */
  uint64_t base_index; /* of the entry before the first one in the log, and its term */
  uint64_t base_term;
  uint64_t last_index;
  const raft_core_term_run* runs; /* the terms of base_index + 1 ... last_index */
  size_t run_count;
  raft_core_slice conf_state; /* a ConfState in protobuf form */
  raft_core_fetch fetch;
  void* context; /* for fetch */
} raft_core_config;

typedef struct {
  uint64_t to;
  uint64_t term;
  uint64_t index;
  uint64_t snapshot_index; /* 0: no snapshot */
  const char* data;        /* the message in protobuf form */
  size_t bytes;
  uint32_t type;
  uint8_t reject;
} raft_core_message;

typedef struct {
  uint64_t index;
  raft_core_slice context;
} raft_core_read;

typedef struct {
  uint64_t number;
  uint64_t term; /* term, vote, commit: if has_hard_state */
  uint64_t vote;
  uint64_t commit;
  uint64_t snapshot_index; /* the four: if has_snapshot */
  uint64_t snapshot_term;
  raft_core_slice snapshot_conf_state;
  raft_core_slice snapshot_data;
  const raft_core_entry* entries; /* to be written */
  size_t entry_count;
  const raft_core_entry* committed; /* to be applied */
  size_t committed_count;
  const raft_core_message* messages;
  size_t message_count;
  const raft_core_read* reads;
  size_t read_count;
  uint8_t has_hard_state;
  uint8_t term_or_vote_changed;
  uint8_t must_sync;
  uint8_t has_snapshot;
  uint8_t messages_wait_for_sync;
  uint8_t has_commit; /* after advance_append: commit is a new one */
} raft_core_ready_t;

typedef struct {
  uint64_t term;
  uint64_t vote;
  uint64_t commit;
  uint64_t applied;
  uint64_t persisted;
  uint64_t first_index;
  uint64_t last_index;
  uint64_t leader; /* 0: unknown */
  uint64_t transferee;
  uint64_t election_timeout_ticks;
  uint64_t window_bytes;
  uint32_t role; /* 0 follower, 1 candidate, 2 leader, 3 pre-candidate */
  uint8_t promotable;
  uint8_t pending_conf_change;
  uint8_t joint;
  uint8_t wants_snapshot;
  uint8_t sole_voter;
} raft_core_status_t;

typedef struct {
  uint64_t matched;
  uint64_t next;
  uint32_t state; /* 0 probe, 1 replicate, 2 snapshot */
  uint8_t paused;
  uint8_t recently_active;
} raft_core_progress_t;

/* Null on failure, with a zero-terminated sentence in error. */
raft_core* raft_core_new(const raft_core_config* config, char* error, size_t capacity);
void raft_core_free(raft_core* core);
raft_core_slice raft_core_error(const raft_core* core);
void raft_core_push_entry(void* sink, const raft_core_entry* entry);

int raft_core_tick(raft_core* core); /* 1 if something may be ready */
int raft_core_step(raft_core* core, const char* data, size_t bytes);
int raft_core_campaign(raft_core* core);
/* Copies the payloads; they travel in one message. Leader only. */
int raft_core_propose(raft_core* core, const raft_core_slice* payloads, size_t count);
/* A ConfChangeV2 in protobuf form. Leader only. */
int raft_core_propose_conf_change(raft_core* core, const char* data, size_t bytes);
/* For a committed entry of type 1 or 2, before advance_apply_to. Gives the configuration now. */
int raft_core_apply_conf_change(raft_core* core, uint32_t type, const char* data, size_t bytes,
                                raft_core_slice* conf_state);
int raft_core_read_index(raft_core* core, const char* context, size_t bytes);
int raft_core_transfer_leader(raft_core* core, uint64_t to);
int raft_core_report_unreachable(raft_core* core, uint64_t id);
int raft_core_report_snapshot(raft_core* core, uint64_t id, int arrived);

int raft_core_has_ready(const raft_core* core);
/* 1 and a Ready, or 0. Each Ready is advanced, one way or the other, before the next is taken. */
int raft_core_ready(raft_core* core, raft_core_ready_t* ready);
/* The Ready is durable: light gets what that allows (commit, committed, messages). */
int raft_core_advance_append(raft_core* core, raft_core_ready_t* light);
/* The Ready is on its way to the disk; raft_core_on_persist(number) follows, in order. */
int raft_core_advance_append_async(raft_core* core);
int raft_core_on_persist(raft_core* core, uint64_t number);
int raft_core_advance_apply_to(raft_core* core, uint64_t index);

/* A snapshot of our own state that can be sent to followers; data travels in the message. */
int raft_core_set_snapshot(raft_core* core, uint64_t index, uint64_t term,
                           raft_core_slice conf_state, raft_core_slice data);
/* There is none any more, as at the beginning. */
void raft_core_clear_snapshot(raft_core* core);
/* Forgets the entries up to index, which are applied. */
int raft_core_compact(raft_core* core, uint64_t index);
/* Drops payloads up to index from memory, the oldest first, until keep_bytes are left; fetch gives
 * them again. */
void raft_core_evict(raft_core* core, uint64_t index, size_t keep_bytes);

void raft_core_status(const raft_core* core, raft_core_status_t* status);
int raft_core_progress(const raft_core* core, uint64_t id, raft_core_progress_t* progress);

#ifdef __cplusplus
}
#endif
