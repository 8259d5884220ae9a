//! `usher store copy`: everything arrives, and never two databases can be used.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use usher_engine::ports::{
    Commit, CounterAdvance, DeliveryStore as _, LoginRecordStatus, OpenIdQuota, OpenIdRecord, OpenIdRecordId,
    OpenIdStep, OpenIdStore as _, OutboxChange, Passkey, PasskeyChange, PaymentKind, PaymentRecord,
    PaymentRecordStatus, SettingStore as _, SignerSession, SignerSessionUpdate, Store as _, TicketCommit,
    TicketStore as _,
};
use usher_engine::{Origin, UnixMillis};
use usher_protocol::message::PaymentHash;
use usher_store::conformance::{
    FullStore, Snapshot, Subjects, accepted, api_key, audit_entry, commit_done, create, ended_login, event, given_up,
    id, idempotency_key, inbound, key, message, new_record, openid_consent, openid_record, openid_step, passkey, proof,
    proof_id, public_key, refused, step, ticket_job, ticket_step, user_relays, user_signer,
};
use usher_store::{
    CopiedTable, CopyError, CopyOutcome, CopySource, CopyState, CopyTarget, Inspection as _, Lease, OpenError,
    PostgresInspection, PostgresOpenError, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, copy,
};

use crate::postgres;

const COUNT: u64 = 40;

struct Place {
    folder: TempDir,
    postgres: postgres::Place,
}

impl std::ops::Deref for Place {
    type Target = postgres::Place;

    fn deref(&self) -> &Self::Target {
        &self.postgres
    }
}

impl Place {
    async fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), postgres: postgres::Place::new().await }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("usher.db")
    }

    fn options(&self) -> PostgresOptions {
        PostgresOptions::new(self.server.url(&self.database).into())
    }

    async fn epoch(&self) -> u64 {
        let lease = Lease::connect(&self.options()).await.unwrap();
        postgres::acquire(&lease, Duration::from_secs(600)).await.epoch
    }

    async fn to_postgres(&self, file: &Path, epoch: u64) -> Result<Vec<CopiedTable>, CopyError> {
        let source = CopySource::sqlite(file).await?;
        copied(source, CopyTarget::postgres(&self.options(), epoch).await?).await
    }

    async fn to_sqlite(&self, epoch: u64, file: &Path) -> Result<Vec<CopiedTable>, CopyError> {
        let source = CopySource::postgres(&self.options(), epoch).await?;
        copied(source, CopyTarget::sqlite(file).await?).await
    }
}

async fn copied(source: CopySource, target: CopyTarget) -> Result<Vec<CopiedTable>, CopyError> {
    match copy(source, target, "a-copy", "now", |_| true, &|_, _, _| {}).await? {
        CopyOutcome::Copied(tables) => Ok(tables),
        CopyOutcome::Finished => Ok(Vec::new()),
    }
}

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, SqliteOptions::default()).unwrap()
}

async fn fill(store: &dyn FullStore) {
    for n in 0..COUNT {
        store.add_audit_entry(audit_entry(n)).await.unwrap();
        let signer = user_signer(n, &format!("session {n}"), SignerSessionUpdate::Store);
        let commit = Commit {
            claims: vec![key(&n.to_string())],
            events: vec![event(0), event(1), event(2)],
            outbox: OutboxChange::Replace(vec![message(n), message(n + 1)]),
            inbound: vec![inbound(n)],
            user_relays: vec![user_relays(n, &["wss://a"])],
            user_signers: if n % 2 == 0 { vec![signer] } else { Vec::new() },
            passkeys: vec![PasskeyChange::Add(Box::new(a_passkey(n)))],
            payment_record: Some(payment(n)),
            login_record: (n % 4 == 1).then(|| ended_login(n, LoginRecordStatus::Declined)),
            deliver: true,
            watched: (n % 3 == 0).then(|| PaymentHash::from_bytes([7; 32])),
            wake_at: (n % 5 == 0).then_some(UnixMillis(n)),
            done: n % 7 == 0,
            origin: (n % 2 == 0).then(|| Origin(n.cast_signed())),
            idempotency_record: Some(new_record(n, n, 0)),
            ..create(id(n))
        };
        commit_done(store, commit).await;
        if n % 2 == 0 {
            assert!(store.record_attempt(accepted(id(n), 0, n)).await.unwrap());
            assert!(store.record_attempt(given_up(id(n), 1, n)).await.unwrap());
            assert!(store.record_attempt(refused(id(n), 2, n)).await.unwrap());
        }
        if n % 4 == 0 {
            let kept = vec![(key(&n.to_string()), UnixMillis(u64::from(u32::MAX) + n))];
            commit_done(store, Commit { finished: true, kept, ..step(id(n), 1) }).await;
        }
        let counter = CounterAdvance { mint_url: "https://m".to_owned(), keyset: n.to_string(), from: 0, to: 2 };
        let added =
            vec![proof(n, "https://m", "sat", n + 1), proof(1000 + n, "https://ü", "\u{1F511}", i64::MAX as u64)];
        let job =
            TicketCommit { counter: Some(counter), claims: vec![proof_id(5000 + n)], add: added, ..ticket_step(n, 0) };
        store.commit_tickets(job).await.unwrap();
        let reserve = TicketCommit { reserve: vec![proof_id(n)], ..ticket_step(n, 1) };
        store.commit_tickets(reserve).await.unwrap();
        if n % 2 == 0 {
            let aside = TicketCommit { set_aside: vec![proof_id(n)], finished: true, ..ticket_step(n, 2) };
            store.commit_tickets(aside).await.unwrap();
        }
    }
    for n in 0..COUNT {
        store.put_key(api_key(n)).await.unwrap();
    }
    // Values that only one of the databases finds difficult.
    for (name, value) in [
        ("big", format!("\"{}\"", "\u{FFFF}x\0".repeat(100_000))),
        ("zero\0name", "1".to_owned()),
        ("mark\u{FFFF}name", "2".to_owned()),
        ("quote'\"\\", "\"\\\\n\"".to_owned()),
        ("", "3".to_owned()),
    ] {
        // A text that is no JSON would be a damaged row.
        let value = value.replace('\0', "\\u0000");
        store.set_setting(name, Some(&value)).await.unwrap();
    }
    store.add_openid_records((0..COUNT).map(record).collect()).await.unwrap();
    let consent = openid_consent("shop", "aa", "openid");
    let step = OpenIdStep { id: openid(3), ..openid_step(0, Vec::new(), Some(consent)) };
    store.use_openid_record(step).await.unwrap();
}

fn a_passkey(number: u64) -> Passkey {
    let wrapped_key = (number.is_multiple_of(2)).then(|| vec![0; 73]);
    Passkey { wrapped_key, ..passkey(&number.to_be_bytes(), number) }
}

fn payment(number: u64) -> PaymentRecord {
    let is_paid = number.is_multiple_of(2);
    PaymentRecord {
        kind: if is_paid { PaymentKind::Outgoing } else { PaymentKind::Requested },
        status: if is_paid { PaymentRecordStatus::Paid } else { PaymentRecordStatus::Open },
        amount: number,
        settled: is_paid.then_some(number),
        fee: is_paid.then_some(0),
        description: "\u{1F511} \0".to_owned(),
        reference: is_paid.then(|| "order".to_owned()),
        payment_hash: is_paid.then(|| PaymentHash::from_bytes([7; 32])),
        price: is_paid.then(|| "{}".to_owned()),
        refund_of: is_paid.then(|| id(1)),
    }
}

fn openid(number: u64) -> OpenIdRecordId {
    let mut id = [0x3c; 32];
    // Not in the order in which they are added.
    id[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    OpenIdRecordId(id)
}

fn record(number: u64) -> OpenIdRecord {
    OpenIdRecord {
        id: openid(number),
        client_id: (number.is_multiple_of(3)).then(|| "shop".to_owned()),
        subject: (number.is_multiple_of(3)).then(|| "aa".to_owned()),
        quota: if number.is_multiple_of(2) { OpenIdQuota::Grants } else { OpenIdQuota::Requests },
        visitor: format!("v{}", number % 4),
        ..openid_record(u8::try_from(number).unwrap(), (number.is_multiple_of(2)).then_some(9))
    }
}

fn subjects() -> Subjects {
    Subjects {
        streams: (0..COUNT).map(id).collect(),
        keys: (0..COUNT).map(|n| key(&n.to_string())).collect(),
        users: (0..COUNT).map(public_key).collect(),
        calls: (0..COUNT).map(idempotency_key).collect(),
        settings: ["big", "zero\0name", "mark\u{FFFF}name", "quote'\"\\", "", "none"].map(str::to_owned).into(),
        ticket_jobs: (0..COUNT).map(ticket_job).collect(),
        proofs: (0..COUNT).flat_map(|n| [proof_id(n), proof_id(1000 + n), proof_id(5000 + n)]).collect(),
        keysets: (0..COUNT).map(|n| ("https://m".to_owned(), "sat".to_owned(), n.to_string())).collect(),
    }
}

/// All rows of all tables of a file, but the note of the copy.
fn dump(path: &Path) -> Vec<String> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut names = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
        .unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut rows = Vec::new();
    for name in names {
        let number = if name == "openid_records" { "rowid, *" } else { "*" };
        let mut statement = connection.prepare(&format!("SELECT {number} FROM {name}")).unwrap();
        let count = statement.column_count();
        let mut found = statement.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            let values: Vec<_> = (0..count).map(|column| format!("{:?}", row.get_ref(column).unwrap())).collect();
            rows.push(format!("{name}: {}", values.join(", ")));
        }
    }
    rows.retain(|row| !row.contains(&format!("{:?}", rusqlite::types::ValueRef::Text(b"store.copy"))));
    rows.sort();
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_moves_to_postgres_and_back() {
    let place = Place::new().await;
    let store = open(&place.file());
    fill(&store).await;
    let about = subjects();
    let before = Snapshot::of(&store, &about).await;
    store.close().await;
    drop(store);
    let rows = dump(&place.file());

    let epoch = place.epoch().await;
    let to_postgres = place.to_postgres(&place.file(), epoch).await.unwrap();
    let empty: Vec<_> = to_postgres.iter().filter(|table| table.rows == 0).collect();
    assert!(empty.is_empty(), "fill() makes no row of {empty:?}");
    assert_eq!(dump(&place.file()), rows, "the source is as it was");

    // The engine goes on with it.
    let store = PostgresStore::open(&place.options(), epoch).await.unwrap();
    assert_eq!(Snapshot::of(&store, &about).await, before);
    assert_eq!(store.user_signer(&public_key(2)).await.unwrap(), Some(SignerSession("session 2".to_owned())));
    for n in 0..COUNT {
        assert_eq!(store.passkey(&n.to_be_bytes()).await.unwrap(), Some(a_passkey(n)));
    }
    let excess = store.openid_records_over(OpenIdQuota::Grants, Some("v0"), 0, 0, 3).await.unwrap();
    let oldest: Vec<_> = excess.oldest.iter().map(|old| old.id).collect();
    assert_eq!((excess.bytes, oldest), (1000, vec![openid(0), openid(4), openid(8)]), "the order is kept");
    // Added rows are newer than copied ones.
    store.add_openid_records(vec![record(COUNT)]).await.unwrap();
    let excess = store.openid_records_over(OpenIdQuota::Grants, Some("v0"), 0, 9, 3).await.unwrap();
    assert_eq!(excess.oldest.iter().map(|old| old.id).collect::<Vec<_>>(), [openid(36), openid(40)]);
    store.drop_openid_records(vec![openid(COUNT)]).await.unwrap();
    store.close().await;

    let back = place.folder.path().join("back.db");
    let to_sqlite = place.to_sqlite(epoch, &back).await.unwrap();
    assert_eq!(to_sqlite, to_postgres, "with the same digests");
    assert_eq!(dump(&back), rows);
    let store = open(&back);
    assert_eq!(Snapshot::of(&store, &about).await, before);
    // Triggers and numbers of rows go on.
    store.add_openid_records(vec![record(COUNT)]).await.unwrap();
    let excess = store.openid_records_over(OpenIdQuota::Grants, Some("v0"), 0, 9, 3).await.unwrap();
    let oldest: Vec<_> = excess.oldest.iter().map(|old| old.id).collect();
    assert_eq!((excess.bytes, oldest), (1100, vec![openid(36), openid(40)]));
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_was_moved_is_refused_and_says_where_it_went() {
    let place = Place::new().await;
    open(&place.file()).close().await;
    let epoch = place.epoch().await;
    place.to_postgres(&place.file(), epoch).await.unwrap();

    let refused = SqliteStore::open(&place.file(), SqliteOptions::default()).err().unwrap();
    assert!(matches!(&refused, OpenError::Marked { mark, .. } if mark.state == CopyState::Moved), "{refused:?}");
    let said = refused.to_string();
    let at = format!("the PostgreSQL database {} at 127.0.0.1:{}", place.database, place.server.port());
    assert!(said.contains(&format!("was moved to {at} at now")), "{said}");
    assert!(!said.contains(place.server.password()), "{said}");
    let again = place.to_postgres(&place.file(), epoch).await.unwrap_err();
    assert!(matches!(&again, CopyError::Marked { mark, .. } if mark.state == CopyState::Moved), "{again:?}");

    // Back to another file; then the PostgreSQL database is refused.
    let back = place.folder.path().join("back.db");
    place.to_sqlite(epoch, &back).await.unwrap();
    let refused = PostgresStore::open(&place.options(), epoch).await.err().unwrap();
    let PostgresOpenError::Marked(mark) = &refused else { panic!("{refused:?}") };
    assert!(mark.other.contains("back.db") && mark.state == CopyState::Moved);
    let inspection = PostgresInspection::open(&place.options()).await.unwrap().unwrap();
    assert_eq!(inspection.copy_mark().await.unwrap().as_ref(), Some(mark));

    // Neither of them becomes a target by mistake.
    for target in [place.file(), back.clone()] {
        let error = place.to_sqlite(epoch, &target).await.unwrap_err();
        assert!(matches!(error, CopyError::Marked { .. }), "{error:?}");
    }
    let source = place.folder.path().join("another.db");
    open(&source).close().await;
    let error = place.to_postgres(&source, epoch).await.unwrap_err();
    assert!(matches!(&error, CopyError::Marked { mark, .. } if mark.state == CopyState::Moved), "{error:?}");

    // The way back when the other one is lost.
    CopySource::postgres(&place.options(), epoch).await.unwrap().reopen().await.unwrap();
    PostgresStore::open(&place.options(), epoch).await.unwrap().close().await;
    CopySource::sqlite(&place.file()).await.unwrap().reopen().await.unwrap();
    open(&place.file()).close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_copied_is_refused_and_stays_as_it_is() {
    let place = Place::new().await;
    let epoch = place.epoch().await;
    let missing = place.to_postgres(&place.file(), epoch).await.unwrap_err();
    assert!(matches!(missing, CopyError::Missing(_)), "{missing:?}");
    assert!(!place.file().exists());

    let store = open(&place.file());
    commit_done(&store, create(id(1))).await;
    let in_use = place.to_postgres(&place.file(), epoch).await.unwrap_err();
    assert!(matches!(in_use, CopyError::OpenSqlite(OpenError::InUse { .. })), "{in_use:?}");
    store.close().await;
    drop(store);
    let rows = dump(&place.file());

    // A lease that is over.
    let over = place.to_postgres(&place.file(), epoch + 1).await.unwrap_err();
    assert!(over.to_string().contains("does not hold the lease"), "{over:?}");

    let raw = rusqlite::Connection::open(place.file()).unwrap();
    let change = |sql: &str| raw.execute_batch(sql).unwrap();
    let version: u32 = raw.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    change("UPDATE operations SET revision = -1 WHERE kind <> 0");
    let damaged = place.to_postgres(&place.file(), epoch).await.unwrap_err();
    assert!(matches!(&damaged, CopyError::DamagedRows { rows } if rows.len() == 1), "{damaged:?}");
    change("UPDATE operations SET revision = 1 WHERE kind <> 0");

    change("CREATE TABLE of_another_program (x INTEGER)");
    let unknown = place.to_postgres(&place.file(), epoch).await.unwrap_err();
    assert!(matches!(&unknown, CopyError::Schemas(what) if what.contains("of_another_program")), "{unknown:?}");
    change("DROP TABLE of_another_program; PRAGMA user_version = 16");
    let old = place.to_postgres(&place.file(), epoch).await.unwrap_err();
    assert!(matches!(old, CopyError::Version { found: 16, .. }), "{old:?}");
    change(&format!("PRAGMA user_version = {version}"));
    drop(raw);
    assert_eq!(dump(&place.file()), rows);

    place.psql("INSERT INTO settings VALUES ('there', '1')").await;
    let not_empty = place.to_postgres(&place.file(), epoch).await.unwrap_err();
    assert!(matches!(&not_empty, CopyError::NotEmpty { what, .. } if what.contains("settings")), "{not_empty:?}");
    assert_eq!(place.psql("SELECT value FROM settings").await, "1");

    let not_empty = place.to_sqlite(epoch, &place.file()).await.unwrap_err();
    assert!(matches!(not_empty, CopyError::NotEmpty { .. }), "{not_empty:?}");
    let log = place.folder.path().join("new.db-wal");
    std::fs::write(&log, "of another").unwrap();
    let beside = place.to_sqlite(epoch, &place.folder.path().join("new.db")).await.unwrap_err();
    assert!(matches!(beside, CopyError::NotEmpty { .. }), "{beside:?}");
    assert_eq!(dump(&place.file()), rows);
    open(&place.file()).close().await;
    PostgresStore::open(&place.options(), epoch).await.unwrap().close().await;
}

/// `usher doctor` finds in PostgreSQL what it finds in SQLite.
#[tokio::test(flavor = "multi_thread")]
async fn inspection_reads_every_row() {
    let place = Place::new().await;
    assert!(PostgresInspection::open(&place.options()).await.unwrap().is_none(), "nobody has used it");
    let store = PostgresStore::open(&place.options(), place.epoch().await).await.unwrap();
    fill(&store).await;
    let inspection = PostgresInspection::open(&place.options()).await.unwrap().unwrap();
    let open = COUNT - COUNT / 4;
    assert_eq!(inspection.damaged_rows(|_| true).await.unwrap(), (open, Vec::new()));
    assert_eq!(inspection.deliveries().await.unwrap(), store.count_deliveries().await.unwrap());
    assert_eq!(inspection.ticket_balances().await.unwrap(), store.ticket_balances().await.unwrap());
    assert_eq!(inspection.setting("").await.unwrap().as_deref(), Some("3"));
    inspection.set_setting("", None).await.unwrap();
    assert_eq!(store.setting("").await.unwrap().as_deref(), Some("3"), "it changes nothing");

    for (table, damage) in [
        ("settings", "INSERT INTO settings VALUES ('broken', 'no JSON')"),
        ("openid_consents", "UPDATE openid_consents SET at = -1"),
        (
            "payment_records",
            "UPDATE payment_records SET status = 'x' WHERE ctid = (SELECT min(ctid) FROM payment_records)",
        ),
        ("passkeys", "UPDATE passkeys SET main_key = 'x' WHERE ctid = (SELECT min(ctid) FROM passkeys)"),
        ("openid_records", "UPDATE openid_records SET data = '{' WHERE seq = (SELECT min(seq) FROM openid_records)"),
        ("ticket_counters", "UPDATE ticket_counters SET next = -1 WHERE keyset = '1'"),
        (
            "ticket_jobs",
            "UPDATE ticket_jobs SET revision = 0 WHERE id = (SELECT min(id::text)::bytea FROM ticket_jobs)",
        ),
        (
            "ticket_proofs",
            "UPDATE ticket_proofs SET job = 'x' WHERE id = (SELECT min(id::text)::bytea FROM ticket_proofs)",
        ),
        ("ticket_claims", "INSERT INTO ticket_claims VALUES ('short', 'short')"),
        ("operations", "UPDATE operations SET wake_at = -1 WHERE id = (SELECT max(id::text)::bytea FROM operations)"),
        ("outbox", "UPDATE outbox SET recipients = 'x' WHERE ctid = (SELECT min(ctid) FROM outbox)"),
        ("deliveries", "UPDATE deliveries SET status = 9 WHERE ctid = (SELECT min(ctid) FROM deliveries)"),
        ("events", "UPDATE events SET data = 'x' WHERE ctid = (SELECT max(ctid) FROM events)"),
        ("answers", "UPDATE answers SET status = 7 WHERE ctid = (SELECT min(ctid) FROM answers)"),
        ("user_relays", "UPDATE user_relays SET relays = 'x' WHERE ctid = (SELECT min(ctid) FROM user_relays)"),
        ("correlations", "INSERT INTO correlations VALUES ('short', 'short')"),
        ("inbound", "INSERT INTO inbound VALUES ('short', 1)"),
    ] {
        let before = inspection.damaged_rows(|_| true).await.unwrap().1.len();
        place.psql(damage).await;
        let (_, damaged) = inspection.damaged_rows(|_| true).await.unwrap();
        assert!(damaged.len() > before && damaged.iter().any(|row| row.table == table), "{table}: {damaged:?}");
    }
    let (_, damaged) = inspection.damaged_rows(|_| false).await.unwrap();
    assert_eq!(damaged.len(), 20, "the first ones say enough");
    store.close().await;
}
