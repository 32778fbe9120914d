//! The log as the core sees it: a window of recent entries in memory, the terms of the older ones,
//! and a callback that fetches their payloads. The core's storage trait is synchronous, so the
//! callback is too.

use crate::ffi::{view_of, CEntry, FetchFn};
use prost::Message as _;
use raft::eraftpb::{ConfState, Entry, HardState, Snapshot, SnapshotMetadata};
use raft::{GetEntriesContext, RaftState, Storage, StorageError};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::rc::Rc;

/// What an entry is taken to cost beside its payload.
const ENTRY_OVERHEAD_BYTES: usize = 64;

pub struct Window {
    pub hard_state: HardState,
    pub conf_state: ConfState,
    /// The newest snapshot that may be sent to a follower; index 0: none.
    pub snapshot: SnapshotMetadata,
    /// What travels with it.
    pub snapshot_data: Vec<u8>,
    /// A follower needs a newer snapshot than the one above.
    pub wants_snapshot: bool,
    /// Index and term of the entry before the first one that is kept.
    base: (u64, u64),
    /// First index and term of each run of equal terms among the evicted entries.
    evicted: VecDeque<(u64, u64)>,
    first: u64,
    entries: VecDeque<Entry>,
    bytes: usize,
    fetch: Option<FetchFn>,
    context: *mut c_void,
}

fn cost(entry: &Entry) -> usize {
    entry.data.len() + ENTRY_OVERHEAD_BYTES
}

fn without_data(entry: &Entry) -> Entry {
    Entry {
        index: entry.index,
        term: entry.term,
        entry_type: entry.entry_type,
        ..Default::default()
    }
}

impl Window {
    /// An empty window behind a log that ends at `last`; `runs` are the terms of its entries.
    pub fn new(
        base: (u64, u64),
        last: u64,
        runs: impl Iterator<Item = (u64, u64)>,
        fetch: Option<FetchFn>,
        context: *mut c_void,
    ) -> Window {
        Window {
            hard_state: HardState::default(),
            conf_state: ConfState::default(),
            snapshot: SnapshotMetadata::default(),
            snapshot_data: Vec::new(),
            wants_snapshot: false,
            base,
            evicted: runs.collect(),
            first: last + 1,
            entries: VecDeque::new(),
            bytes: 0,
            fetch,
            context,
        }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn last(&self) -> u64 {
        self.first + self.entries.len() as u64 - 1
    }

    /// Adds `entries` and gives views of them, which hold until they are evicted.
    pub fn append(&mut self, entries: Vec<Entry>, views: &mut Vec<CEntry>) {
        views.clear();
        let start = match entries.first() {
            Some(entry) => entry.index,
            None => return,
        };
        if start < self.first {
            self.entries.clear();
            self.bytes = 0;
            self.first = start;
            while self.evicted.back().map_or(false, |run| run.0 >= start) {
                self.evicted.pop_back();
            }
        }
        while self.last() >= start {
            if let Some(entry) = self.entries.pop_back() {
                self.bytes -= cost(&entry);
            }
        }
        assert_eq!(self.last() + 1, start, "entries leave a gap");
        self.bytes += entries.iter().map(cost).sum::<usize>();
        views.extend(entries.iter().map(view_of));
        self.entries.extend(entries);
    }

    /// Forgets payloads up to `index` until no more than `keep_bytes` are held.
    pub fn evict(&mut self, index: u64, keep_bytes: usize) {
        while self.first <= index && self.bytes > keep_bytes {
            let entry = match self.entries.pop_front() {
                Some(entry) => entry,
                None => return,
            };
            self.bytes -= cost(&entry);
            self.first += 1;
            if self.evicted.back().map_or(true, |run| run.1 != entry.term) {
                self.evicted.push_back((entry.index, entry.term));
            }
        }
    }

    fn term_of(&self, index: u64) -> Option<u64> {
        if index == self.base.0 {
            return Some(self.base.1);
        }
        if index < self.base.0 || index > self.last() {
            return None;
        }
        if index >= self.first {
            return Some(self.entries[(index - self.first) as usize].term);
        }
        let after = self.evicted.partition_point(|run| run.0 <= index);
        after.checked_sub(1).map(|i| self.evicted[i].1)
    }

    pub fn compact(&mut self, index: u64) {
        if index <= self.base.0 {
            return;
        }
        let term = self
            .term_of(index)
            .expect("compaction beyond the log's end");
        self.evict(index, 0);
        self.base = (index, term);
        while self.evicted.len() > 1 && self.evicted[1].0 <= index + 1 {
            self.evicted.pop_front();
        }
        if self.first == index + 1 {
            self.evicted.clear();
        }
    }

    pub fn restore(&mut self, metadata: &SnapshotMetadata) {
        self.base = (metadata.index, metadata.term);
        self.evicted.clear();
        self.entries.clear();
        self.bytes = 0;
        self.first = metadata.index + 1;
    }

    /// The entry at `index`, if it is held.
    pub fn view(&self, index: u64) -> Option<CEntry> {
        let at = index.checked_sub(self.first)?;
        self.entries.get(at as usize).map(view_of)
    }

    /// Entries [low, high). `bare` ones lack their data: see `entries`.
    fn held(&self, low: u64, high: u64, max_bytes: u64, bare: bool) -> Vec<Entry> {
        let from = (low - self.first) as usize;
        let to = (high - self.first) as usize;
        let mut taken = Vec::with_capacity(to - from);
        let mut bytes = 0;
        for entry in self.entries.range(from..to) {
            if max_bytes != u64::MAX {
                bytes += entry.encoded_len() as u64;
                if bytes > max_bytes && !taken.is_empty() {
                    break;
                }
            }
            taken.push(if bare {
                without_data(entry)
            } else {
                entry.clone()
            });
        }
        taken
    }
}

/// Shared between the raft node, which reads it, and us, who fill it; one thread.
#[derive(Clone)]
pub struct Store(pub Rc<RefCell<Window>>);

impl Storage for Store {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let window = self.0.borrow();
        Ok(RaftState {
            hard_state: window.hard_state.clone(),
            conf_state: window.conf_state.clone(),
        })
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_bytes: impl Into<Option<u64>>,
        context: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        let window = self.0.borrow();
        let max_bytes = max_bytes.into().unwrap_or(u64::MAX);
        if low <= window.base.0 {
            return Err(StorageError::Compacted.into());
        }
        assert!(high <= window.last() + 1, "entries beyond the log's end");
        if low >= window.first {
            // Only entries for a follower are sent as they are; those may be fetched later, by the
            // trait. For everything else the core looks at index, term and type alone, and data of
            // committed entries is handed out from the window: large payloads are not copied.
            return Ok(window.held(low, high, max_bytes, !context.can_async()));
        }
        let fetch = match window.fetch {
            Some(fetch) => fetch,
            None => return Err(StorageError::Compacted.into()),
        };
        let c_context = window.context;
        let high = high.min(window.first);
        drop(window);
        let mut fetched: Vec<Entry> = Vec::new();
        let sink = &mut fetched as *mut Vec<Entry> as *mut c_void;
        // A failed fetch gives nothing: the core then has nothing to hand out, and the driver,
        // which knows of the failure, stops. An error here would be a panic inside the core.
        if unsafe { fetch(c_context, low, high, max_bytes, sink) } != 0 {
            fetched.clear();
        }
        Ok(fetched)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        let window = self.0.borrow();
        if index < window.base.0 {
            return Err(StorageError::Compacted.into());
        }
        window
            .term_of(index)
            .ok_or_else(|| StorageError::Unavailable.into())
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.0.borrow().base.0 + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.0.borrow().last())
    }

    /// A snapshot whose configuration lacks the receiver is ignored by it, so such a one is not
    /// sent: the driver is asked for a fresh one instead.
    fn snapshot(&self, request_index: u64, to: u64) -> raft::Result<Snapshot> {
        let mut window = self.0.borrow_mut();
        let conf = window.snapshot.get_conf_state();
        let known = conf.voters.contains(&to)
            || conf.learners.contains(&to)
            || conf.voters_outgoing.contains(&to);
        let index = window.snapshot.index;
        if !known || index == 0 || index < request_index || index < window.base.0 {
            window.wants_snapshot = true;
            return Err(StorageError::SnapshotTemporarilyUnavailable.into());
        }
        let mut snapshot = Snapshot::default();
        snapshot.set_metadata(window.snapshot.clone());
        snapshot.data = window.snapshot_data.clone();
        Ok(snapshot)
    }
}
