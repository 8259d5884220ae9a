//! Decides in memory what commits change: first every condition, then every change.
//!
//! Conditions come first, so that a conflict needs no undo and does not affect other commits.

use usher_engine::UnixMillis;
use usher_engine::ports::{
    AllCommitted, Commit, Conflict, CorrelationKey, OperationHead, OutboxChange, PaymentRecord, Revision,
    SignerSessionUpdate, UserRelays, UserSigner,
};
use usher_protocol::PublicKey;

use super::rows::{Operation, Rows, User, contended, messages};
use super::writes::Writes;
use crate::codec::{self, Unreadable};
use crate::records::payment_records::{self, Booked};

/// See [`Plan::apply`](super::Plan::apply).
pub(super) fn apply(rows: &mut Rows, writes: &mut Writes, commits: &[Commit]) -> Result<AllCommitted, Unreadable> {
    let mut before = Vec::with_capacity(commits.len());
    for (index, commit) in commits.iter().enumerate() {
        let earlier = commits.get(..index).unwrap_or_default();
        match look(rows, commit, earlier)? {
            Ok(operation) => before.push(operation),
            Err(conflict) => return Ok(AllCommitted::Conflict(conflict)),
        }
    }
    for (commit, before) in commits.iter().zip(&before).filter(|(commit, _)| commit.finished) {
        check_finish(rows, commit, before)?;
    }
    let heads = commits.iter().zip(before).map(|(commit, before)| write(rows, writes, commit, before)).collect();
    Ok(AllCommitted::Done(heads))
}

/// The operation before the commit, or the conflict; `earlier` are the preceding commits of the same batch.
fn look(rows: &Rows, commit: &Commit, earlier: &[Commit]) -> Result<Result<Operation, Conflict>, Unreadable> {
    if let Some(new) = &commit.idempotency_record {
        let mut others = earlier.iter().filter_map(|other| other.idempotency_record.as_ref());
        // A record with an impossible time is not replaced: the request may have been carried out.
        let stays = |at: &i64| *at >= codec::time(new.replace_before) || *at < 0;
        if others.any(|other| other.record.key == new.record.key)
            || rows.records.get(&new.record.key).is_some_and(stays)
        {
            return Ok(Err(Conflict::AlreadyRequested));
        }
    }
    let Some(before) = expected(rows, commit)? else {
        return Ok(Err(Conflict::Revision));
    };
    if earlier.iter().any(|other| other.operation == commit.operation) {
        return Ok(Err(Conflict::Revision));
    }
    let claimed = earlier.iter().find(|other| other.claims.iter().any(|key| contended(commit).contains(key)));
    for key in contended(commit) {
        if let Some(owner) = rows.owner(*key)?
            && owner != commit.operation
        {
            return Ok(Err(Conflict::Correlation(owner)));
        }
    }
    if let Some(other) = claimed {
        return Ok(Err(Conflict::Correlation(other.operation)));
    }
    let is_seen =
        |inbound| rows.inbound.contains(inbound) || earlier.iter().any(|other| other.inbound.contains(inbound));
    if commit.inbound.iter().any(is_seen) {
        return Ok(Err(Conflict::InboundSeen));
    }
    Ok(Ok(before))
}

/// The operation, if it is at the expected revision; for a new one, the initial values.
fn expected(rows: &Rows, commit: &Commit) -> Result<Option<Operation>, Unreadable> {
    let stored = rows.operation(commit.operation)?;
    Ok(match (commit.expected, stored) {
        (Revision::New, None) => Some(Operation { is_open: true, ..Operation::default() }),
        (expected, Some(stored))
            if stored.is_open && (expected == Revision::Any || expected == Revision::At(stored.revision)) =>
        {
            Some(stored.clone())
        }
        (Revision::New, Some(_)) | (Revision::At(_) | Revision::Any, _) => None,
    })
}

/// Whether the operation can finish.
fn check_finish(rows: &Rows, commit: &Commit, before: &Operation) -> Result<(), Unreadable> {
    for (key, _) in kept(commit, before) {
        if rows.owner(key)?.is_some_and(|owner| owner != commit.operation) {
            return Err(Unreadable("the owner of a correlation key that is kept"));
        }
    }
    Ok(())
}

/// The keys that the operation keeps when it finishes, among those that it has or claims.
fn kept(commit: &Commit, before: &Operation) -> impl Iterator<Item = (CorrelationKey, UnixMillis)> {
    let has = |key: &CorrelationKey| before.correlations.contains(key) || commit.claims.contains(key);
    commit.kept.iter().copied().filter(move |(key, _)| has(key))
}

fn write(rows: &mut Rows, writes: &mut Writes, commit: &Commit, before: Operation) -> OperationHead {
    let mut after = before;
    let stored = after.revision;
    append_events(writes, commit, &mut after);
    after.revision = after.revision.saturating_add(1);
    change_outbox(rows, writes, commit, &mut after);
    change_correlations(rows, writes, commit, &mut after);
    after.is_open = !commit.finished;
    for inbound in &commit.inbound {
        rows.inbound.insert(*inbound);
        writes.inbound.push((*inbound, codec::time(commit.at)));
    }
    for relays in &commit.user_relays {
        remember_relays(rows, writes, commit, relays);
    }
    for signer in &commit.user_signers {
        change_signer(rows, writes, commit, signer);
    }
    if let Some(record) = &commit.payment_record {
        book(rows, writes, commit, record);
    }
    if let Some(record) = &commit.login_record {
        writes.sums.login_ended(record.status, commit.at);
        writes.login_records.push((commit.operation, commit.origin, commit.at, record.clone()));
    }
    writes.passkeys.extend(commit.passkeys.iter().map(|change| (change.clone(), commit.at)));
    if let Some(new) = &commit.idempotency_record {
        rows.records.insert(new.record.key, codec::time(new.record.at));
        writes.records.insert(new.record.key, new.record.clone());
    }
    if let Some(new) = &commit.audit {
        rows.audit.add(new);
    }
    let head = OperationHead { revision: after.revision, next_index: after.next_index };
    writes.set_operation(commit, stored, &after);
    rows.set_operation(commit.operation, after);
    head
}

fn book(rows: &mut Rows, writes: &mut Writes, commit: &Commit, record: &PaymentRecord) {
    let before = rows.payments.get(&commit.operation).copied();
    let after = Booked::after(before, record, commit.at);
    rows.payments.insert(commit.operation, after);
    writes.sums.booked(record.kind, before, after, commit.at);
    payment_records::enter(&mut writes.payment_records, commit.operation, record, commit.at, after.changed_at);
}

/// Existing events are never overwritten, even if the operation's row has a lower count: otherwise a damaged number
/// would make every later commit fail.
fn append_events(writes: &mut Writes, commit: &Commit, operation: &mut Operation) {
    // The index of an event may be damaged, too.
    let is_plausible = codec::check_numbers(operation.revision, operation.after_last).is_ok();
    if !commit.events.is_empty() && commit.expected != Revision::New && is_plausible {
        operation.next_index = operation.next_index.max(operation.after_last);
    }
    for (nth, event) in commit.events.iter().enumerate() {
        let index = operation.next_index;
        writes.events.push((commit.operation, index, event.clone()));
        if commit.deliver {
            let queue = commit.delivery_queues.get(nth).copied().unwrap_or(commit.operation);
            writes.deliveries.push((commit.operation, index, queue, event.at));
        }
        operation.next_index = index.saturating_add(1);
        operation.after_last = operation.next_index;
    }
}

fn change_outbox(rows: &mut Rows, writes: &mut Writes, commit: &Commit, operation: &mut Operation) {
    let kept = match &commit.outbox {
        _ if commit.finished => 0,
        OutboxChange::Replace(_) => 0,
        OutboxChange::Add(_) => operation.outbox,
        OutboxChange::Keep => return,
        OutboxChange::Pause(until) => {
            writes.outbox.entry(commit.operation).or_default().pause(*until);
            return;
        }
    };
    let messages = messages(commit);
    if operation.outbox <= kept && messages.is_empty() {
        return;
    }
    let outbox = writes.outbox.entry(commit.operation).or_default();
    if operation.outbox > kept {
        outbox.clear();
    }
    for (slot, message) in messages.iter().enumerate() {
        outbox.added.push((kept.saturating_add(slot), message.clone()));
    }
    operation.outbox = kept.saturating_add(messages.len());
    for message in messages {
        keep_relays(rows, writes, &message.main_key, commit.at);
    }
}

fn change_correlations(rows: &mut Rows, writes: &mut Writes, commit: &Commit, operation: &mut Operation) {
    if commit.finished {
        let kept: Vec<_> = kept(commit, operation).collect();
        for (key, until) in &kept {
            rows.set_owner(*key, commit.operation);
            writes.own_key(*key, commit.operation, Some(*until));
        }
        for key in std::mem::take(&mut operation.correlations) {
            if !commit.kept.iter().any(|(kept, _)| *kept == key) {
                rows.free(key, commit.operation);
                writes.free_key(key, commit.operation);
            }
        }
        return;
    }
    for key in &commit.claims {
        // Claiming a key again is not a change.
        if !operation.correlations.contains(key) {
            if !commit.random_keys {
                rows.set_owner(*key, commit.operation);
                writes.own_key(*key, commit.operation, None);
            }
            operation.correlations.push(*key);
        }
    }
}

fn remember_relays(rows: &mut Rows, writes: &mut Writes, commit: &Commit, named: &UserRelays) {
    let at = codec::time(commit.at);
    let addresses = codec::write_relays(&named.relays);
    let user = rows.users.entry(named.main_key).or_insert_with(|| User { relays: addresses.clone(), at, signer: None });
    user.at = at;
    if !named.relays.is_empty() {
        user.relays = addresses;
    }
    writes.users.insert(*named.main_key.as_bytes(), named.main_key);
}

fn change_signer(rows: &mut Rows, writes: &mut Writes, commit: &Commit, signer: &UserSigner) {
    let at = codec::time(commit.at);
    let session = &signer.session.0;
    let stored = rows.users.get_mut(&signer.main_key);
    match (&signer.update, stored) {
        (SignerSessionUpdate::Store, stored) => {
            let relays = stored.map_or_else(|| codec::write_relays(&[]), |user| std::mem::take(&mut user.relays));
            rows.users.insert(signer.main_key, User { relays, at, signer: Some(session.clone()) });
        }
        (SignerSessionUpdate::Replace(last), Some(user)) if user.signer.as_ref() == Some(&last.0) => {
            user.signer = Some(session.clone());
            user.at = at;
        }
        (SignerSessionUpdate::Remove, Some(user)) if user.signer.as_ref() == Some(session) => user.signer = None,
        (SignerSessionUpdate::Replace(_) | SignerSessionUpdate::Remove, _) => return,
    }
    writes.users.insert(*signer.main_key.as_bytes(), signer.main_key);
}

/// Records that the user's relays are in use, if there are any.
fn keep_relays(rows: &mut Rows, writes: &mut Writes, main_key: &PublicKey, at: UnixMillis) {
    if let Some(user) = rows.users.get_mut(main_key)
        && user.at < codec::time(at.minus(codec::RELAYS_NOTED_EVERY))
    {
        user.at = codec::time(at);
        writes.users.insert(*main_key.as_bytes(), *main_key);
    }
}
