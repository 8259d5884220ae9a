//! Checks at the end: after hours without faults, every operation must have ended.

use usher_engine::StreamId;
use usher_engine::ports::OperationKind;

use super::State;
use super::action::AppRequest;
use super::nwc_wallet::PaymentState;
use crate::fault_plan::Workload;

impl State {
    /// Looks at everything at the end. `open` is how many operations the engine holds open.
    pub(crate) fn judge(&mut self, open: usize) {
        let mut broken: Vec<(&'static str, String)> = Vec::new();
        let expected = self.invariants.streams.values().filter(|book| !book.done).count();
        let reserved = usize::from(!self.invariants.streams.contains_key(&StreamId::SUBSCRIPTIONS));
        if open > expected + reserved {
            broken.push(("memory-is-bounded", format!("{open} operations are in memory, {expected} are open")));
        }
        for acknowledged in self.app.acknowledged.values() {
            match self.invariants.streams.get(&acknowledged.stream) {
                None => broken.push(("acknowledged-exists", format!("{:?}", acknowledged.what))),
                Some(book)
                    if !book.done
                        && !matches!(
                            acknowledged.what,
                            AppRequest::Close { .. } | AppRequest::ReusableLogin { .. }
                        ) =>
                {
                    broken.push(("everything-ends", format!("{} is still open", book.label)));
                }
                Some(_) => {}
            }
        }
        for (id, book) in &self.invariants.streams {
            let paid = book.statuses.iter().any(|status| status == "paid");
            let settled = book
                .invoices
                .iter()
                .any(|hash| self.node.incoming.get(hash).is_some_and(|incoming| incoming.settled_at.is_some()));
            // An invoice that was handed out again is nobody's second payment.
            if book.kind == OperationKind::SinglePayment && settled && !paid && !self.node.profile.repeats_paid {
                broken.push(("money-is-told", format!("{} was paid, and nobody says so", book.label)));
            }
            if book.kind == OperationKind::OutgoingPayment
                && let Some(outgoing) = book.pays.and_then(|hash| self.node.outgoing.get(&hash))
            {
                if outgoing.state == PaymentState::Succeeded && !paid && !self.node.profile.forgets_outgoing {
                    broken.push(("money-is-told", format!("{} was made, and nobody says so", book.label)));
                }
                let unknown = book.events.iter().any(|(event, _)| event.data.contains("\"unknown\""));
                let heard = book.pays.and_then(|hash| self.invariants.refusals_heard.get(&hash));
                // A copy may have been acted on, which is no doubt where each request was sent once, by one process.
                let sent_once = outgoing.paid_by.iter().all(|id| self.node.sent.get(id) == Some(&1));
                let refused =
                    heard.is_some_and(|(at, _)| self.invariants.bad_between(book.began, at + 60_000) == 0) && sent_once;
                if outgoing.only_refused && refused && unknown {
                    let what =
                        format!("{} was refused {} times, and is said to be unknown", book.label, outgoing.asked);
                    broken.push(("a-refusal-is-definite", what));
                }
                // A request lives for a minute; a wallet that was there for most of it gets it.
                let bad = self.invariants.bad_between(book.began, book.began + 60_000);
                if outgoing.asked == 0 && unknown && bad < 20_000 && self.plan.lost == 0 {
                    let what = format!("{} never reached the wallet, though it was there", book.label);
                    broken.push(("an-outage-costs-no-payment", what));
                }
            }
            if self.plan.webhook {
                for index in 0..book.events.len() as u64 {
                    if !self.invariants.is_settled(*id, index) {
                        broken.push(("webhooks-complete", format!("{} event {index} was not delivered", book.label)));
                    }
                }
            }
        }
        for (stream, record) in &self.invariants.approvals {
            let Some(book) = self.invariants.streams.get(stream) else { continue };
            let reasons = ["it was declined", "nobody approved it in time"];
            let ended_by =
                reasons.into_iter().find(|reason| book.events.iter().any(|(event, _)| event.data.contains(reason)));
            if let Some(how) = record.contradicted_by(ended_by) {
                broken.push(("one-decision", format!("{}: {how}", book.label)));
            }
        }
        for key in self.invariants.reusable_login.without_outcome() {
            broken.push((
                "everybody-has-an-outcome",
                format!("{key} was named at the reusable login, and nothing came of it"),
            ));
        }
        for (id, heard) in &self.invariants.closes_heard {
            let Some(subscription) = self.invariants.subscriptions.get(id) else { continue };
            // Whatever was on its way when the process died may be lost: wallets send once.
            if subscription.over_at.is_none() && self.invariants.survived(*heard, self.starts) {
                broken.push(("a-close-closes", format!("{id} was closed by its user, and is active")));
            }
        }
        if self.plan.workload == Workload::Years {
            for (id, subscription) in &self.invariants.subscriptions {
                if subscription.over_at.is_none() && subscription.paid.len() < 3 {
                    let what = format!("of {id} only {} dates are paid, with its user there", subscription.paid.len());
                    broken.push(("who-is-there-is-reached", what));
                }
            }
        }
        if let Some(script) = self.plan.script
            && let Some(missing) = self.missing(script)
        {
            broken.push(("as-without-the-outage", missing));
        }
        for (rule, what) in broken {
            self.violation(rule, &what);
        }
    }
}
