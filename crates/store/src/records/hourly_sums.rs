//! Sums of each hour, changed in the transactions that change the books and end logins.

use std::collections::BTreeMap;

use usher_engine::UnixMillis;
use usher_engine::ports::{HourlySums, LoginRecordStatus, PaymentKind, PaymentRecordStatus};

use super::payment_records::Booked;
use crate::codec::{self, Unreadable};
use crate::row::Row;
use crate::statement::{Query, Statement, params};

const HOUR: u64 = 60 * 60 * 1000;

/// The columns after the hour, in their order.
#[derive(Clone, Copy)]
enum Column {
    Paid,
    PaidMillisats,
    RefundedMillisats,
    SentMillisats,
    Unpaid,
    Logins,
    LoginsFailed,
}

/// What the commits of a group add to the sums of each hour.
#[derive(Default)]
pub(crate) struct AddedSums(BTreeMap<u64, [i64; 7]>);

/// A sum that would overflow its column stays at its largest value: it must not fail a commit.
macro_rules! add {
    ($($column:literal),+) => {
        concat!(
            "INSERT INTO hourly_sums (hour", $(", ", $column,)+ ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (hour) DO UPDATE SET hour = excluded.hour",
            $(
                ", ", $column, " = CASE WHEN hourly_sums.", $column, " > 9000000000000000000 - excluded.", $column,
                " THEN 9000000000000000000 ELSE hourly_sums.", $column, " + excluded.", $column, " END",
            )+
        )
    };
}

const ADD: Statement = Statement::new(
    "add to the sums of an hour",
    add!("paid", "paid_millisats", "refunded_millisats", "sent_millisats", "unpaid", "logins", "logins_failed"),
);

pub(crate) const LIST: Statement = Statement::new(
    "read the sums",
    "SELECT hour, paid, paid_millisats, refunded_millisats, sent_millisats, unpaid, logins, logins_failed
     FROM hourly_sums WHERE hour >= ?1 AND hour < ?2 ORDER BY hour",
);

impl AddedSums {
    /// Adds what has changed of a payment in the books.
    pub(crate) fn booked(&mut self, kind: PaymentKind, before: Option<Booked>, after: Booked, at: UnixMillis) {
        let settled = |booked: Booked| booked.settled.unwrap_or_default();
        let amount = settled(after).saturating_sub(before.map(settled).unwrap_or_default());
        let column = match kind {
            PaymentKind::Requested | PaymentKind::Charge => Column::PaidMillisats,
            PaymentKind::Refund => Column::RefundedMillisats,
            PaymentKind::Outgoing | PaymentKind::OnChain => Column::SentMillisats,
        };
        self.add(at, column, codec::integer(amount));
        if !kind.is_incoming() || before.is_some_and(|before| before.status == after.status) {
            return;
        }
        match after.status {
            PaymentRecordStatus::Paid => self.add(at, Column::Paid, 1),
            PaymentRecordStatus::NotPaid => self.add(at, Column::Unpaid, 1),
            PaymentRecordStatus::Open | PaymentRecordStatus::Unknown => {}
        }
        // It was paid late: where it was counted, it is not any more.
        if let Some(before) = before.filter(|before| before.status == PaymentRecordStatus::NotPaid) {
            self.add(before.changed_at, Column::Unpaid, -1);
        }
    }

    /// Counts a login that has ended.
    pub(crate) fn login_ended(&mut self, status: LoginRecordStatus, at: UnixMillis) {
        let column = match status {
            LoginRecordStatus::Approved => Column::Logins,
            LoginRecordStatus::Declined | LoginRecordStatus::Timeout | LoginRecordStatus::Error => Column::LoginsFailed,
        };
        self.add(at, column, 1);
    }

    fn add(&mut self, at: UnixMillis, column: Column, number: i64) {
        if number != 0
            && let Some(sum) = self.0.entry(at.0 / HOUR).or_default().get_mut(column as usize)
        {
            *sum = sum.saturating_add(number);
        }
    }

    pub(crate) fn put(&self) -> Query {
        ADD.each(self.0.iter().map(|(hour, [paid, received, refunded, sent, unpaid, logins, failed])| {
            params![codec::integer(*hour), *paid, *received, *refunded, *sent, *unpaid, *logins, *failed]
        }))
    }
}

pub(crate) fn read(row: &Row) -> Result<HourlySums, Unreadable> {
    Ok(HourlySums {
        hour: row.int(0)?,
        paid: row.int(1)?,
        paid_millisats: row.int(2)?,
        refunded_millisats: row.int(3)?,
        sent_millisats: row.int(4)?,
        unpaid: row.int::<i64>(5)?.max(0).cast_unsigned(),
        logins: row.int(6)?,
        logins_failed: row.int(7)?,
    })
}
