//! The types that cross the C border. They mirror `../raft_core.h` field by field.

use raft::eraftpb::Entry;
use std::ffi::c_void;
use std::slice;

/// Reads entries in [low, high) that have left the window and pushes them, in order, with
/// `raft_core_push_entry`: at least one, then as long as they come to no more than `max_bytes`.
pub type FetchFn = unsafe extern "C" fn(
    context: *mut c_void,
    low: u64,
    high: u64,
    max_bytes: u64,
    sink: *mut c_void,
) -> i32;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Slice {
    pub data: *const u8,
    pub bytes: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CEntry {
    pub index: u64,
    pub term: u64,
    pub data: *const u8,
    pub bytes: usize,
    pub kind: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TermRun {
    pub first_index: u64,
    pub term: u64,
}

#[repr(C)]
pub struct CConfig {
    pub id: u64,
    pub election_ticks: u64,
    pub heartbeat_ticks: u64,
    pub max_message_bytes: u64,
    pub max_inflight_messages: u64,
    pub max_committed_bytes_per_ready: u64,
    pub max_uncommitted_bytes: u64,
    pub seed: u64,
    pub applied: u64,
    pub term: u64,
    pub vote: u64,
    pub commit: u64,
    pub base_index: u64,
    pub base_term: u64,
    pub last_index: u64,
    pub runs: *const TermRun,
    pub run_count: usize,
    pub conf_state: Slice,
    pub fetch: Option<FetchFn>,
    pub context: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CMessage {
    pub to: u64,
    pub term: u64,
    pub index: u64,
    pub snapshot_index: u64,
    pub data: *const u8,
    pub bytes: usize,
    pub kind: u32,
    pub reject: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CRead {
    pub index: u64,
    pub context: Slice,
}

#[repr(C)]
pub struct CReady {
    pub number: u64,
    pub term: u64,
    pub vote: u64,
    pub commit: u64,
    pub snapshot_index: u64,
    pub snapshot_term: u64,
    pub snapshot_conf_state: Slice,
    pub snapshot_data: Slice,
    pub entries: *const CEntry,
    pub entry_count: usize,
    pub committed: *const CEntry,
    pub committed_count: usize,
    pub messages: *const CMessage,
    pub message_count: usize,
    pub reads: *const CRead,
    pub read_count: usize,
    pub has_hard_state: u8,
    pub term_or_vote_changed: u8,
    pub must_sync: u8,
    pub has_snapshot: u8,
    pub messages_wait_for_sync: u8,
    pub has_commit: u8,
}

#[repr(C)]
pub struct CStatus {
    pub term: u64,
    pub vote: u64,
    pub commit: u64,
    pub applied: u64,
    pub persisted: u64,
    pub first_index: u64,
    pub last_index: u64,
    pub leader: u64,
    pub transferee: u64,
    pub election_timeout_ticks: u64,
    pub window_bytes: u64,
    pub role: u32,
    pub promotable: u8,
    pub pending_conf_change: u8,
    pub joint: u8,
    pub wants_snapshot: u8,
    pub sole_voter: u8,
}

#[repr(C)]
pub struct CProgress {
    pub matched: u64,
    pub next: u64,
    pub state: u32,
    pub paused: u8,
    pub recently_active: u8,
}

/// Why a call was refused; zero is success.
pub mod code {
    pub const OK: i32 = 0;
    pub const DROPPED: i32 = -1;
    pub const UNKNOWN_PEER: i32 = -2;
    pub const CONF_CHANGE: i32 = -3;
    pub const MALFORMED: i32 = -4;
    pub const MISUSE: i32 = -5;
    pub const OTHER: i32 = -6;
}

/// # Safety
/// `data` points to `bytes` readable bytes, or `bytes` is zero.
pub unsafe fn bytes_at<'a>(data: *const u8, bytes: usize) -> &'a [u8] {
    if bytes == 0 {
        &[]
    } else {
        slice::from_raw_parts(data, bytes)
    }
}

pub fn slice_of(bytes: &[u8]) -> Slice {
    Slice {
        data: bytes.as_ptr(),
        bytes: bytes.len(),
    }
}

/// # Safety
/// The entry's data is readable.
pub unsafe fn entry_from(c: &CEntry) -> Entry {
    let mut entry = Entry::default();
    entry.index = c.index;
    entry.term = c.term;
    entry.entry_type = c.kind as i32;
    entry.data = bytes_at(c.data, c.bytes).to_vec();
    entry
}

/// Points into `entry`, which must outlive the result.
pub fn view_of(entry: &Entry) -> CEntry {
    CEntry {
        index: entry.index,
        term: entry.term,
        data: entry.data.as_ptr(),
        bytes: entry.data.len(),
        kind: entry.entry_type as u32,
    }
}
