//! raft-rs behind a C interface: step in, output out. No thread, clock, lock or I/O of its own; one
//! `Core` is one replica and belongs to one thread. The contract of every function is in
//! `../raft_core.h`.

mod core;
mod ffi;
mod window;

use crate::core::Core;
use ffi::*;
use prost::Message as _;
use raft::eraftpb::{ConfChange, ConfChangeV2, ConfState, Entry, Message, SnapshotMetadata};
use raft::{SnapshotStatus, StateRole};
use std::ffi::c_void;
use std::{ptr, slice};

/// The type of a committed entry that carries a ConfChange of the first kind.
const ENTRY_CONF_CHANGE: u32 = 1;

unsafe fn with(core: *mut Core, f: impl FnOnce(&mut Core) -> i32) -> i32 {
    let core = &mut *core;
    let result = f(core);
    core.redraw_timeout();
    result
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_new(
    config: *const CConfig,
    error: *mut u8,
    capacity: usize,
) -> *mut Core {
    match Core::new(&*config) {
        Ok(core) => Box::into_raw(Box::new(core)),
        Err(message) => {
            if capacity > 0 {
                let bytes = message.len().min(capacity - 1);
                ptr::copy_nonoverlapping(message.as_ptr(), error, bytes);
                *error.add(bytes) = 0;
            }
            ptr::null_mut()
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_free(core: *mut Core) {
    if !core.is_null() {
        drop(Box::from_raw(core));
    }
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_error(core: *const Core) -> Slice {
    slice_of((*core).error.as_bytes())
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_push_entry(sink: *mut c_void, entry: *const CEntry) {
    (*(sink as *mut Vec<Entry>)).push(entry_from(&*entry));
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_tick(core: *mut Core) -> i32 {
    with(core, |c| c.node.tick() as i32)
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_step(core: *mut Core, data: *const u8, bytes: usize) -> i32 {
    with(core, |c| match Message::decode(bytes_at(data, bytes)) {
        Ok(message) => c.step(message),
        Err(error) => c.refuse(code::MALFORMED, &error.to_string()),
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_campaign(core: *mut Core) -> i32 {
    with(core, |c| {
        let result = c.node.campaign();
        c.outcome(result)
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_propose(
    core: *mut Core,
    payloads: *const Slice,
    count: usize,
) -> i32 {
    with(core, |c| {
        let payloads = if count == 0 {
            &[]
        } else {
            slice::from_raw_parts(payloads, count)
        };
        let entry = |payload: &Slice| Entry {
            data: bytes_at(payload.data, payload.bytes).to_vec(),
            ..Default::default()
        };
        c.propose(payloads.iter().map(entry).collect())
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_propose_conf_change(
    core: *mut Core,
    data: *const u8,
    bytes: usize,
) -> i32 {
    with(core, |c| {
        if c.node.raft.state != StateRole::Leader || c.node.raft.has_pending_conf() {
            return c.refuse(code::DROPPED, "not the leader, or a change is under way");
        }
        match ConfChangeV2::decode(bytes_at(data, bytes)) {
            Ok(change) => {
                let result = c.node.propose_conf_change(vec![], change);
                c.outcome(result)
            }
            Err(error) => c.refuse(code::MALFORMED, &error.to_string()),
        }
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_apply_conf_change(
    core: *mut Core,
    kind: u32,
    data: *const u8,
    bytes: usize,
    conf_state: *mut Slice,
) -> i32 {
    with(core, |c| {
        let data = bytes_at(data, bytes);
        let result = if kind == ENTRY_CONF_CHANGE {
            ConfChange::decode(data).map(|change| c.node.apply_conf_change(&change))
        } else {
            ConfChangeV2::decode(data).map(|change| c.node.apply_conf_change(&change))
        };
        match result {
            Err(error) => c.refuse(code::MALFORMED, &error.to_string()),
            Ok(Err(error)) => {
                let now = c.node.raft.prs().conf().to_conf_state();
                *conf_state = c.keep_conf_state(&now);
                c.refuse(code::CONF_CHANGE, &error.to_string())
            }
            Ok(Ok(now)) => {
                *conf_state = c.keep_conf_state(&now);
                code::OK
            }
        }
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_read_index(
    core: *mut Core,
    data: *const u8,
    bytes: usize,
) -> i32 {
    with(core, |c| {
        c.node.read_index(bytes_at(data, bytes).to_vec());
        code::OK
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_transfer_leader(core: *mut Core, to: u64) -> i32 {
    with(core, |c| {
        c.node.transfer_leader(to);
        code::OK
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_report_unreachable(core: *mut Core, id: u64) -> i32 {
    with(core, |c| {
        c.node.report_unreachable(id);
        code::OK
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_report_snapshot(core: *mut Core, id: u64, arrived: i32) -> i32 {
    let finish = SnapshotStatus::Finish;
    let status = if arrived != 0 {
        finish
    } else {
        SnapshotStatus::Failure
    };
    with(core, |c| {
        c.node.report_snapshot(id, status);
        code::OK
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_has_ready(core: *const Core) -> i32 {
    (*core).node.has_ready() as i32
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_ready(core: *mut Core, ready: *mut CReady) -> i32 {
    with(core, |c| match c.ready() {
        Some(output) => {
            *ready = output;
            1
        }
        None => 0,
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_advance_append(core: *mut Core, light: *mut CReady) -> i32 {
    with(core, |c| match c.advance_append() {
        Some(output) => {
            *light = output;
            code::OK
        }
        None => c.refuse(code::MISUSE, "no Ready was taken"),
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_advance_append_async(core: *mut Core) -> i32 {
    with(core, |c| match c.advance_append_async() {
        true => code::OK,
        false => c.refuse(code::MISUSE, "no Ready was taken"),
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_on_persist(core: *mut Core, number: u64) -> i32 {
    with(core, |c| {
        c.node.on_persist_ready(number);
        code::OK
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_advance_apply_to(core: *mut Core, index: u64) -> i32 {
    with(core, |c| {
        c.node.advance_apply_to(index);
        code::OK
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_set_snapshot(
    core: *mut Core,
    index: u64,
    term: u64,
    conf_state: Slice,
    data: Slice,
) -> i32 {
    with(core, |c| {
        let conf_state = match ConfState::decode(bytes_at(conf_state.data, conf_state.bytes)) {
            Ok(conf_state) => conf_state,
            Err(error) => return c.refuse(code::MALFORMED, &error.to_string()),
        };
        let mut window = c.store.0.borrow_mut();
        if index > window.snapshot.index {
            let mut metadata = SnapshotMetadata {
                index,
                term,
                ..Default::default()
            };
            metadata.set_conf_state(conf_state);
            window.snapshot = metadata;
            window.snapshot_data = bytes_at(data.data, data.bytes).to_vec();
            window.wants_snapshot = false;
        }
        code::OK
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_clear_snapshot(core: *mut Core) {
    let mut window = (*core).store.0.borrow_mut();
    window.snapshot = SnapshotMetadata::default();
    window.snapshot_data.clear();
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_compact(core: *mut Core, index: u64) -> i32 {
    with(core, |c| {
        if index > c.node.raft.raft_log.applied {
            return c.refuse(code::MISUSE, "compaction beyond what is applied");
        }
        c.store.0.borrow_mut().compact(index);
        code::OK
    })
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_evict(core: *mut Core, index: u64, keep_bytes: usize) {
    (*core).store.0.borrow_mut().evict(index, keep_bytes);
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_status(core: *const Core, status: *mut CStatus) {
    let core = &*core;
    let raft = &core.node.raft;
    let window = core.store.0.borrow();
    let conf = raft.prs().conf().to_conf_state();
    let joint = !conf.voters_outgoing.is_empty();
    *status = CStatus {
        term: raft.term,
        vote: raft.vote,
        commit: raft.raft_log.committed,
        applied: raft.raft_log.applied,
        persisted: raft.raft_log.persisted,
        first_index: raft.raft_log.first_index(),
        last_index: raft.raft_log.last_index(),
        leader: raft.leader_id,
        transferee: raft.lead_transferee.unwrap_or(0),
        election_timeout_ticks: raft.randomized_election_timeout() as u64,
        window_bytes: window.bytes() as u64,
        role: raft.state as u32,
        promotable: raft.promotable() as u8,
        pending_conf_change: raft.has_pending_conf() as u8,
        joint: joint as u8,
        wants_snapshot: window.wants_snapshot as u8,
        sole_voter: (!joint && conf.voters == [raft.id]) as u8,
    };
}

#[no_mangle]
pub unsafe extern "C" fn raft_core_progress(
    core: *const Core,
    id: u64,
    progress: *mut CProgress,
) -> i32 {
    match (*core).node.raft.prs().get(id) {
        Some(p) => {
            *progress = CProgress {
                matched: p.matched,
                next: p.next_idx,
                state: p.state as u32,
                paused: p.is_paused() as u8,
                recently_active: p.recent_active as u8,
            };
            code::OK
        }
        None => code::UNKNOWN_PEER,
    }
}
