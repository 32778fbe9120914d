//! One raft replica: the node of raft-rs, its window of the log, and the output that C looks at.

use crate::ffi::*;
use crate::window::{Store, Window};
use prost::Message as _;
use raft::eraftpb::{
    ConfState, Entry, HardState, Message, MessageType, Snapshot, SnapshotMetadata,
};
use raft::{Config, RawNode, ReadOnlyOption, ReadState, Ready, StateRole};
use std::cell::RefCell;
use std::rc::Rc;
use std::{ptr, slice};

/// What the last Ready points into. It lives until the next one is taken or advanced.
#[derive(Default)]
struct Output {
    ready: Option<Ready>,
    committed: Vec<Entry>,
    encoded: Vec<Vec<u8>>,
    reads: Vec<ReadState>,
    snapshot: Snapshot,
    conf_state: Vec<u8>,
    c_entries: Vec<CEntry>,
    c_committed: Vec<CEntry>,
    c_messages: Vec<CMessage>,
    c_reads: Vec<CRead>,
}

pub struct Core {
    pub node: RawNode<Store>,
    pub store: Store,
    pub error: String,
    output: Output,
    random: u64,
    seen: Option<(u64, StateRole)>,
    timeout_range: (usize, usize),
}

fn empty_ready() -> CReady {
    let nothing = Slice {
        data: ptr::null(),
        bytes: 0,
    };
    CReady {
        number: 0,
        term: 0,
        vote: 0,
        commit: 0,
        snapshot_index: 0,
        snapshot_term: 0,
        snapshot_conf_state: nothing,
        snapshot_data: nothing,
        entries: ptr::null(),
        entry_count: 0,
        committed: ptr::null(),
        committed_count: 0,
        messages: ptr::null(),
        message_count: 0,
        reads: ptr::null(),
        read_count: 0,
        has_hard_state: 0,
        term_or_vote_changed: 0,
        must_sync: 0,
        has_snapshot: 0,
        messages_wait_for_sync: 0,
        has_commit: 0,
    }
}

impl Core {
    /// # Safety
    /// All pointers of `c` are readable.
    pub unsafe fn new(c: &CConfig) -> Result<Core, String> {
        let config = Config {
            id: c.id,
            election_tick: c.election_ticks as usize,
            heartbeat_tick: c.heartbeat_ticks as usize,
            applied: c.applied,
            max_size_per_msg: c.max_message_bytes,
            max_inflight_msgs: c.max_inflight_messages as usize,
            check_quorum: true,
            pre_vote: true,
            read_only_option: ReadOnlyOption::Safe,
            max_uncommitted_size: c.max_uncommitted_bytes,
            max_committed_size_per_ready: c.max_committed_bytes_per_ready,
            ..Default::default()
        };
        let conf_bytes = bytes_at(c.conf_state.data, c.conf_state.bytes);
        let conf_state = ConfState::decode(conf_bytes).map_err(|e| e.to_string())?;
        let runs = if c.run_count == 0 {
            &[]
        } else {
            slice::from_raw_parts(c.runs, c.run_count)
        };
        let mut window = Window::new(
            (c.base_index, c.base_term),
            c.last_index,
            runs.iter().map(|run| (run.first_index, run.term)),
            c.fetch,
            c.context,
        );
        window.hard_state = HardState {
            term: c.term,
            vote: c.vote,
            commit: c.commit,
            ..Default::default()
        };
        window.conf_state = conf_state;
        let store = Store(Rc::new(RefCell::new(window)));
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let node = RawNode::new(&config, store.clone(), &logger).map_err(|e| e.to_string())?;
        let mut core = Core {
            node,
            store,
            error: String::new(),
            output: Output::default(),
            random: c.seed,
            seen: None,
            timeout_range: (config.min_election_tick(), config.max_election_tick()),
        };
        core.redraw_timeout();
        Ok(core)
    }

    /// raft-rs draws election time-outs from a generator of the thread. Every draw comes with a new
    /// (term, role), so they are drawn again here from the seeded generator and a run can be
    /// replayed.
    pub fn redraw_timeout(&mut self) {
        let now = (self.node.raft.term, self.node.raft.state);
        if self.seen == Some(now) {
            return;
        }
        self.seen = Some(now);
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        let (low, high) = self.timeout_range;
        let ticks = low + (z % (high - low) as u64) as usize;
        self.node.raft.set_randomized_election_timeout(ticks);
    }

    pub fn outcome(&mut self, result: raft::Result<()>) -> i32 {
        let error = match result {
            Ok(()) => return code::OK,
            Err(error) => error,
        };
        self.error = error.to_string();
        match error {
            raft::Error::ProposalDropped => code::DROPPED,
            raft::Error::StepPeerNotFound => code::UNKNOWN_PEER,
            raft::Error::ConfChangeError(_) => code::CONF_CHANGE,
            raft::Error::CodecError(_) => code::MALFORMED,
            _ => code::OTHER,
        }
    }

    pub fn refuse(&mut self, code: i32, why: &str) -> i32 {
        self.error = why.to_string();
        code
    }

    /// A message of a peer. Proposals are made on the leader only, never forwarded.
    pub fn step(&mut self, message: Message) -> i32 {
        if message.get_msg_type() == MessageType::MsgPropose {
            return self.refuse(code::DROPPED, "proposals are not forwarded");
        }
        if self.is_stale_reject(&message) {
            return code::OK;
        }
        let result = self.node.step(message);
        self.outcome(result)
    }

    /// A rejection of something that the follower has confirmed since would push its next index
    /// below its match; later versions of raft-rs repair this.
    fn is_stale_reject(&self, message: &Message) -> bool {
        let raft = &self.node.raft;
        message.get_msg_type() == MessageType::MsgAppendResponse
            && message.reject
            && message.request_snapshot == 0
            && message.term == raft.term
            && raft.state == StateRole::Leader
            && raft
                .prs()
                .get(message.from)
                .map_or(false, |p| message.index <= p.matched)
    }

    pub fn propose(&mut self, entries: Vec<Entry>) -> i32 {
        if self.node.raft.state != StateRole::Leader {
            return self.refuse(code::DROPPED, "not the leader");
        }
        let mut message = Message::default();
        message.set_msg_type(MessageType::MsgPropose);
        message.from = self.node.raft.id;
        message.entries = entries;
        let result = self.node.raft.step(message);
        self.outcome(result)
    }

    /// The next Ready, or nothing. Its entries are visible to the core's storage at once.
    pub fn ready(&mut self) -> Option<CReady> {
        if self.output.ready.is_some() || !self.node.has_ready() {
            return None;
        }
        let before = self.store.0.borrow().hard_state.clone();
        let mut ready = self.node.ready();
        let mut c = empty_ready();
        c.number = ready.number();
        c.must_sync = ready.must_sync() as u8;
        if let Some(hard) = ready.hs() {
            c.has_hard_state = 1;
            c.term = hard.term;
            c.vote = hard.vote;
            c.commit = hard.commit;
            c.term_or_vote_changed = (hard.term != before.term || hard.vote != before.vote) as u8;
            self.store.0.borrow_mut().hard_state = hard.clone();
        }
        self.take_log(&mut ready, &mut c);
        self.output.reads = ready.take_read_states();
        self.output.c_reads.clear();
        for read in &self.output.reads {
            let context = slice_of(&read.request_ctx);
            self.output.c_reads.push(CRead {
                index: read.index,
                context,
            });
        }
        c.reads = self.output.c_reads.as_ptr();
        c.read_count = self.output.c_reads.len();
        c.messages_wait_for_sync = (!ready.persisted_messages().is_empty()) as u8;
        let mut messages = ready.take_persisted_messages();
        messages.append(&mut ready.take_messages());
        self.take_messages(messages, &mut c);
        let committed = ready.take_committed_entries();
        self.take_committed(committed, &mut c);
        self.output.ready = Some(ready);
        Some(c)
    }

    fn take_log(&mut self, ready: &mut Ready, c: &mut CReady) {
        let output = &mut self.output;
        let mut window = self.store.0.borrow_mut();
        if !ready.snapshot().is_empty() {
            output.snapshot = ready.snapshot().clone();
            let metadata: &SnapshotMetadata = output.snapshot.get_metadata();
            window.restore(metadata);
            output.conf_state = metadata.get_conf_state().encode_to_vec();
            c.has_snapshot = 1;
            c.snapshot_index = metadata.index;
            c.snapshot_term = metadata.term;
            c.snapshot_conf_state = slice_of(&output.conf_state);
            c.snapshot_data = slice_of(&output.snapshot.data);
        }
        window.append(ready.take_entries(), &mut output.c_entries);
        c.entries = output.c_entries.as_ptr();
        c.entry_count = output.c_entries.len();
    }

    fn take_messages(&mut self, messages: Vec<Message>, c: &mut CReady) {
        let output = &mut self.output;
        output.encoded.clear();
        output
            .encoded
            .extend(messages.iter().map(|m| m.encode_to_vec()));
        output.c_messages.clear();
        for (message, encoded) in messages.iter().zip(&output.encoded) {
            output.c_messages.push(CMessage {
                to: message.to,
                term: message.term,
                index: message.index,
                snapshot_index: message
                    .snapshot
                    .as_ref()
                    .map_or(0, |s| s.get_metadata().index),
                data: encoded.as_ptr(),
                bytes: encoded.len(),
                kind: message.msg_type as u32,
                reject: message.reject as u8,
            });
        }
        c.messages = output.c_messages.as_ptr();
        c.message_count = output.c_messages.len();
    }

    fn take_committed(&mut self, committed: Vec<Entry>, c: &mut CReady) {
        let output = &mut self.output;
        let window = self.store.0.borrow();
        output.committed = committed;
        output.c_committed.clear();
        for entry in &output.committed {
            // What the window holds came without its data; what it does not hold was fetched whole.
            output
                .c_committed
                .push(window.view(entry.index).unwrap_or_else(|| view_of(entry)));
        }
        c.committed = output.c_committed.as_ptr();
        c.committed_count = output.c_committed.len();
    }

    /// The Ready is on its way to the disk; `on_persist_ready` follows.
    pub fn advance_append_async(&mut self) -> bool {
        match self.output.ready.take() {
            Some(ready) => {
                self.node.advance_append_async(ready);
                true
            }
            None => false,
        }
    }

    /// The Ready is durable. What that allows: commit index, committed entries, messages.
    pub fn advance_append(&mut self) -> Option<CReady> {
        let ready = self.output.ready.take()?;
        let mut light = self.node.advance_append(ready);
        let mut c = empty_ready();
        if let Some(commit) = light.commit_index() {
            c.has_commit = 1;
            c.commit = commit;
            self.store.0.borrow_mut().hard_state.commit = commit;
        }
        self.take_messages(light.take_messages(), &mut c);
        self.take_committed(light.take_committed_entries(), &mut c);
        Some(c)
    }

    pub fn keep_conf_state(&mut self, conf_state: &ConfState) -> Slice {
        self.output.conf_state = conf_state.encode_to_vec();
        slice_of(&self.output.conf_state)
    }
}
