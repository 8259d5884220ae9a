//! The adapter's own records: outgoing payments, and until when invoices can be paid.

use std::io;

use rusqlite::{Row, params};
use usher_engine::ports::CompletedPayment;
use usher_protocol::message::{PaymentHash, Preimage};

use crate::store::Store;

/// The library's key for its list of payments, which it writes after it has sent one.
const LIBRARY_PAYMENTS: &str = "payments";

/// An outgoing payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentPayment {
    /// Its prepared request.
    pub(crate) request: String,
    pub(crate) state: SentState,
}

/// The state of an outgoing payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SentState {
    /// The library has it, or is about to get it.
    Sending,
    /// It reached the payee.
    Paid(CompletedPayment),
    /// It failed for good.
    Failed(String),
}

impl Store {
    pub(crate) fn sent_payment(&self, hash: PaymentHash) -> io::Result<Option<SentPayment>> {
        self.first(
            "SELECT request, state, preimage, fees, reason FROM sent_payments WHERE payment_hash = ?1",
            [hash.as_bytes()],
            sent_payment,
        )
    }

    /// How many payments by the service are under way.
    pub(crate) fn payments_under_way(&self) -> io::Result<u64> {
        self.value_of("SELECT count(*) FROM sent_payments WHERE state = 'sending'", [])
    }

    /// Records that a payment is about to be passed to the library; `false` if there is a record already. `expires_at`
    /// is the invoice's expiry: until then the record protects against paying twice.
    pub(crate) fn begin_payment(
        &self,
        hash: PaymentHash,
        request: &str,
        expires_at: u64,
        now: u64,
    ) -> io::Result<bool> {
        let expires_at = i64::try_from(expires_at).unwrap_or(i64::MAX);
        let inserted = self.execute(
            "INSERT OR IGNORE INTO sent_payments (payment_hash, request, expires_at, state, changed_at)
             VALUES (?1, ?2, ?3, 'sending', ?4)",
            params![hash.as_bytes(), request, expires_at, now],
        )?;
        Ok(inserted == 1)
    }

    /// Removes the record of a payment that the library refused without sending anything.
    pub(crate) fn forget_payment(&self, hash: PaymentHash) -> io::Result<()> {
        self.execute("DELETE FROM sent_payments WHERE payment_hash = ?1 AND state = 'sending'", [hash.as_bytes()])?;
        Ok(())
    }

    /// Records that a payment reached the payee, which is final.
    pub(crate) fn payment_succeeded(&self, hash: PaymentHash, paid: &CompletedPayment, now: u64) -> io::Result<()> {
        self.execute(
            "INSERT INTO sent_payments (payment_hash, request, expires_at, state, preimage, fees, changed_at)
             VALUES (?1, '', ?5, 'paid', ?2, ?3, ?4)
             ON CONFLICT (payment_hash)
             DO UPDATE SET state = 'paid', preimage = ?2, fees = ?3, changed_at = ?4 WHERE state <> 'paid'",
            params![hash.as_bytes(), paid.preimage.as_bytes(), paid.fees_paid, now, i64::MAX],
        )?;
        Ok(())
    }

    /// Records that a payment failed for good, unless it reached the payee.
    pub(crate) fn payment_failed(&self, hash: PaymentHash, reason: &str, now: u64) -> io::Result<()> {
        self.execute(
            "UPDATE sent_payments SET state = 'failed', reason = ?2, changed_at = ?3
             WHERE payment_hash = ?1 AND state = 'sending'",
            params![hash.as_bytes(), reason, now],
        )?;
        Ok(())
    }

    /// Removes the records of payments that were never sent: the process ended after the record and before the library
    /// stored anything of the payment. The library stores each payment before a peer learns of it, so a payment hash
    /// that its stored state does not contain was never sent. Its list of payments proves nothing: it may contain a
    /// payment that was only queued. Call this before the library starts.
    pub(crate) fn remove_unsent_payments(&self) -> io::Result<usize> {
        self.change(|connection| {
            let hashes: Vec<[u8; 32]> = connection
                .prepare("SELECT payment_hash FROM sent_payments WHERE state = 'sending'")?
                .query_map([], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            let mut removed = 0;
            for hash in hashes {
                let known: bool = connection.query_row(
                    "SELECT EXISTS (SELECT 1 FROM entries WHERE primary_namespace <> ?1 AND instr(value, ?2) > 0)",
                    params![LIBRARY_PAYMENTS, hash],
                    |row| row.get(0),
                )?;
                if known {
                    continue;
                }
                let change = connection.unchecked_transaction()?;
                change.execute(
                    "DELETE FROM entries WHERE primary_namespace = ?1 AND key = ?2",
                    params![LIBRARY_PAYMENTS, hex::encode(hash)],
                )?;
                change.execute("DELETE FROM sent_payments WHERE payment_hash = ?1", [hash])?;
                change.commit()?;
                removed += 1;
            }
            Ok(removed)
        })
    }

    /// Records until when an invoice can be paid, in Unix seconds, and how many millisats of inbound capacity it
    /// reserves: none if a channel is opened for it.
    pub(crate) fn record_invoice(&self, hash: PaymentHash, expires_at: u64, reserved_inbound: u64) -> io::Result<()> {
        self.execute(
            "INSERT OR REPLACE INTO invoices VALUES (?1, ?2, ?3)",
            params![hash.as_bytes(), expires_at, reserved_inbound],
        )?;
        Ok(())
    }

    /// The inbound capacity, in millisats, reserved by open invoices.
    pub(crate) fn reserved_inbound(&self, now: u64) -> io::Result<u64> {
        self.value_of(
            "SELECT coalesce(sum(reserved_inbound), 0) FROM invoices WHERE reserved_inbound > 0 AND expires_at > ?1",
            [now],
        )
    }

    /// Records that an invoice was paid, which releases its inbound capacity.
    pub(crate) fn invoice_paid(&self, hash: PaymentHash) -> io::Result<()> {
        self.execute("UPDATE invoices SET reserved_inbound = 0 WHERE payment_hash = ?1", [hash.as_bytes()])?;
        Ok(())
    }

    pub(crate) fn invoice_expiry(&self, hash: PaymentHash) -> io::Result<Option<u64>> {
        self.first("SELECT expires_at FROM invoices WHERE payment_hash = ?1", [hash.as_bytes()], |row| row.get(0))
    }

    /// Removes records that are no longer queried: invoices that expired before `until`, and payments that ended and
    /// whose invoice expired before it. Returns their payment hashes.
    pub(crate) fn remove_old_records(&self, until: u64) -> io::Result<Vec<PaymentHash>> {
        self.change(|connection| {
            let mut removed = Vec::new();
            for statement in [
                "DELETE FROM invoices WHERE payment_hash IN
                 (SELECT payment_hash FROM invoices WHERE expires_at < ?1 LIMIT 1000) RETURNING payment_hash",
                "DELETE FROM sent_payments WHERE payment_hash IN
                 (SELECT payment_hash FROM sent_payments
                  WHERE changed_at < ?1 AND expires_at < ?1 AND state <> 'sending' LIMIT 1000)
                 RETURNING payment_hash",
            ] {
                let mut query = connection.prepare_cached(statement)?;
                for hash in query.query_map([until], |row| row.get(0))? {
                    removed.push(PaymentHash::from_bytes(hash?));
                }
            }
            Ok(removed)
        })
    }
}

fn sent_payment(row: &Row<'_>) -> rusqlite::Result<SentPayment> {
    let state = match row.get::<_, String>("state")?.as_str() {
        "paid" => SentState::Paid(CompletedPayment {
            preimage: Preimage::from_bytes(row.get("preimage")?),
            fees_paid: row.get("fees")?,
        }),
        "failed" => SentState::Failed(row.get::<_, Option<String>>("reason")?.unwrap_or_default()),
        _ => SentState::Sending,
    };
    Ok(SentPayment { request: row.get("request")?, state })
}

#[cfg(test)]
mod tests {
    use ldk_node::lightning::util::persist::KVStoreSync as _;
    use tempfile::TempDir;

    use super::*;

    const HASH: PaymentHash = PaymentHash::from_bytes([7; 32]);

    fn store() -> (TempDir, Store) {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        (folder, store)
    }

    fn paid() -> CompletedPayment {
        CompletedPayment { preimage: Preimage::from_bytes([1; 32]), fees_paid: Some(3) }
    }

    #[test]
    fn a_payment_begins_once() {
        let (_folder, store) = store();
        assert!(store.begin_payment(HASH, "first", 5, 1).unwrap());
        assert!(!store.begin_payment(HASH, "second", 5, 2).unwrap());
        assert_eq!(
            store.sent_payment(HASH).unwrap(),
            Some(SentPayment { request: "first".to_owned(), state: SentState::Sending })
        );
    }

    #[test]
    fn paid_is_final_and_overrides_failure() {
        let (_folder, store) = store();
        store.begin_payment(HASH, "r", 5, 1).unwrap();
        store.payment_failed(HASH, "no route", 2).unwrap();
        assert_eq!(store.sent_payment(HASH).unwrap().unwrap().state, SentState::Failed("no route".to_owned()));
        store.payment_succeeded(HASH, &paid(), 2).unwrap();
        store.payment_failed(HASH, "late", 3).unwrap();
        store.forget_payment(HASH).unwrap();
        assert_eq!(store.sent_payment(HASH).unwrap().unwrap().state, SentState::Paid(paid()));
    }

    #[test]
    fn a_payment_that_the_library_never_stored_was_not_sent() {
        let (_folder, store) = store();
        store.begin_payment(HASH, "r", 5, 1).unwrap();
        // The library lists it, but has only queued it in memory.
        store.write(LIBRARY_PAYMENTS, "", &hex::encode(HASH.as_bytes()), HASH.as_bytes().to_vec()).unwrap();
        assert_eq!(store.remove_unsent_payments().unwrap(), 1);
        assert_eq!(store.sent_payment(HASH).unwrap(), None);
        assert!(store.list(LIBRARY_PAYMENTS, "").unwrap().is_empty());
    }

    #[test]
    fn a_payment_in_a_channel_may_have_been_sent() {
        let (_folder, store) = store();
        store.begin_payment(HASH, "r", 5, 1).unwrap();
        let mut channel = vec![0; 100];
        channel.extend_from_slice(HASH.as_bytes());
        channel.extend_from_slice(&[0; 100]);
        store.write("monitors", "", "a", channel).unwrap();
        assert_eq!(store.remove_unsent_payments().unwrap(), 0);
        assert_eq!(store.sent_payment(HASH).unwrap().unwrap().state, SentState::Sending);
    }

    #[test]
    fn old_records_go_and_payments_under_way_stay() {
        let (_folder, store) = store();
        let other = PaymentHash::from_bytes([8; 32]);
        store.begin_payment(HASH, "r", 5, 1).unwrap();
        store.begin_payment(other, "r", 5, 1).unwrap();
        store.payment_failed(other, "no", 2).unwrap();
        let payable = PaymentHash::from_bytes([10; 32]);
        store.begin_payment(payable, "r", 20, 1).unwrap();
        store.payment_succeeded(payable, &paid(), 2).unwrap();
        store.record_invoice(PaymentHash::from_bytes([9; 32]), 3, 0).unwrap();
        assert_eq!(store.remove_old_records(10).unwrap().len(), 2);
        assert_eq!(store.sent_payment(HASH).unwrap().unwrap().state, SentState::Sending);
        assert_eq!(store.sent_payment(other).unwrap(), None);
        assert!(store.sent_payment(payable).unwrap().is_some(), "its invoice could be paid again");
    }

    #[test]
    fn open_invoices_reserve_inbound_until_they_are_paid_or_expire() {
        let (_folder, store) = store();
        for (hash, expires_at, reserved) in [(1, 20, 5_000), (2, 30, 7_000), (3, 30, 0)] {
            store.record_invoice(PaymentHash::from_bytes([hash; 32]), expires_at, reserved).unwrap();
        }
        assert_eq!(store.reserved_inbound(10).unwrap(), 12_000);
        assert_eq!(store.reserved_inbound(20).unwrap(), 7_000);
        store.invoice_paid(PaymentHash::from_bytes([2; 32])).unwrap();
        assert_eq!(store.reserved_inbound(10).unwrap(), 5_000);
    }

    #[test]
    fn a_folder_in_use_and_a_newer_version_are_refused() {
        let (folder, store) = store();
        let second = Store::open(folder.path());
        assert!(matches!(second, Err(crate::store::OpenError::InUse)));
        store.connection.lock().pragma_update(None, "user_version", 99).unwrap();
        drop(store);
        assert!(matches!(Store::open(folder.path()), Err(crate::store::OpenError::Newer(99))));
    }

    #[test]
    fn entries_survive_and_can_be_listed_and_removed() {
        let (folder, store) = store();
        store.write("a", "b", "c", vec![1, 2]).unwrap();
        store.write("a", "b", "c", vec![3]).unwrap();
        store.write("a", "", "d", vec![]).unwrap();
        drop(store);
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.read("a", "b", "c").unwrap(), [3]);
        assert_eq!(store.list("a", "b").unwrap(), ["c"]);
        store.remove("a", "b", "c", false).unwrap();
        let missing = store.read("a", "b", "c").unwrap_err();
        assert_eq!(missing.kind(), ldk_node::lightning::io::ErrorKind::NotFound);
    }
}
