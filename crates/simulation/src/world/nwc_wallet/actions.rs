//! What happens in the world: the wallet behind the service's Lightning backend.

use std::collections::BTreeSet;
use std::time::Duration;

use nostr::{Event, EventId};
use serde_json::{Value, json};
use usher_protocol::bolt11::Invoice;
use usher_protocol::envelope;
use usher_protocol::message::PaymentHash;
use usher_protocol::nwc::{NOTIFICATION, RESPONSE};

use super::{Incoming, NODE, Outgoing, PAYEE, PaymentBehaviour, PaymentState, client};
use crate::world::action::{Action, Request};
use crate::world::approvals::APPROVAL_ABOVE;
use crate::world::outage::Operation;
use crate::world::{State, invoice, preimage};

impl State {
    /// A payee's invoice that the service's wallet may be asked to pay.
    pub(crate) fn payable(&mut self) -> Invoice {
        let number = self.number();
        let behaviours = [
            PaymentBehaviour::Pays,
            PaymentBehaviour::Pays,
            PaymentBehaviour::PaysLate,
            PaymentBehaviour::PaysSilently,
            PaymentBehaviour::SaysFailedAndPays,
            PaymentBehaviour::Fails,
            PaymentBehaviour::Refuses,
        ];
        let behaviour = match self.plan.script.map(|script| script.operation) {
            None => self.decisions.pick(&behaviours, PaymentBehaviour::Pays),
            Some(Operation::PayRefused) => PaymentBehaviour::Refuses,
            Some(_) => PaymentBehaviour::Pays,
        };
        let more = if self.plan.approvals { self.decisions.number(0..3) } else { 0 };
        let made = invoice(PAYEE, number, APPROVAL_ABOVE + more, self.secs(), 1800);
        let outgoing = Outgoing {
            number,
            state: PaymentState::Nothing,
            behaviour,
            asked: 0,
            paid_by: BTreeSet::new(),
            only_refused: true,
        };
        self.node.outgoing.insert(made.payment_hash(), outgoing);
        made
    }

    /// A request reaches the wallet.
    pub(crate) fn node_hears(&mut self, event: &Event) {
        let (now, secs) = (self.now(), self.secs());
        if self.node.away_until > now {
            return self.log("the wallet is away: a request is lost");
        }
        if self.node.profile.remembers && !self.node.seen.insert(event.id) {
            return;
        }
        let until = event.tags.expiration().map(|at| at.as_secs());
        let Some(conversation) = &self.node.conversation else { return };
        let Ok(text) = envelope::open(conversation, event) else {
            return self.log("the wallet cannot read a request");
        };
        let Ok(Value::Object(call)) = serde_json::from_str::<Value>(&text) else { return };
        if until.is_some_and(|until| until <= secs) {
            return self.log("the wallet gets a request that has expired");
        }
        let method = call.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        let params = call.get("params").cloned().unwrap_or_default();
        let think = if self.calm { 1..50 } else { 1..3000 };
        let think = self.decisions.delay(think);
        self.later(think, Action::NodeActs(Request { id: event.id, method, params, until }));
    }

    pub(crate) fn node_acts(&mut self, request: &Request) {
        if self.node.away_until > self.now() || request.until.is_some_and(|until| until <= self.secs()) {
            return self.log(&format!("the wallet does not come to {}", request.method));
        }
        let hash = request.params.get("payment_hash").and_then(|hash| serde_json::from_value(hash.clone()).ok());
        let result = match request.method.as_str() {
            "make_invoice" => self.make_invoice(&request.params),
            "lookup_invoice" => hash.map(|hash| self.look_up(hash)),
            "pay_invoice" => self.pay(request),
            "get_balance" => Some(Ok(json!({ "balance": 1_000_000_000 }))),
            "get_info" => Some(Ok(json!({ "alias": "simulated", "network": "regtest", "methods": [] }))),
            _ => Some(Err("NOT_IMPLEMENTED")),
        };
        let Some(result) = result else { return };
        let response = self.node_answers(request.id, &request.method, &result);
        let invoice = request.params.get("invoice").and_then(Value::as_str);
        if let (Err("INSUFFICIENT_BALANCE"), Some(response), Some(Ok(invoice))) =
            (result, response, invoice.map(str::parse::<Invoice>))
        {
            self.invariants.refusals.insert(response, invoice.payment_hash());
        }
    }

    /// Its response, with a result or an error code.
    pub(crate) fn node_answers(
        &mut self,
        to: EventId,
        method: &str,
        result: &Result<Value, &'static str>,
    ) -> Option<EventId> {
        let (result, error) = match result {
            Ok(result) => (result.clone(), Value::Null),
            Err(code) => (Value::Null, json!({ "code": code, "message": "simulated" })),
        };
        let text = json!({ "result_type": method, "error": error, "result": result }).to_string();
        self.node_says(RESPONSE, Some(to), &text, &format!("the wallet answers {method}"))
    }

    fn node_says(&mut self, kind: u16, about: Option<EventId>, text: &str, what: &str) -> Option<EventId> {
        let at = self.secs();
        let conversation = self.node.conversation.as_ref()?;
        let sealed = envelope::seal(&self.node.keys, conversation, &[client().public_key()], about, kind, text, at);
        let event = sealed.ok()?;
        self.publish(0, &event, what);
        Some(event.id)
    }

    fn make_invoice(&mut self, params: &Value) -> Option<Result<Value, &'static str>> {
        let amount = params.get("amount").and_then(Value::as_u64)?;
        let expiry = params.get("expiry").and_then(Value::as_u64).unwrap_or(3600);
        let secs = self.secs();
        if self.node.profile.repeats_paid && self.decisions.percent(30) {
            let paid = self.node.incoming.values().find(|incoming| {
                incoming.settled_at.is_some()
                    && incoming.invoice.amount() == Some(amount)
                    && !incoming.invoice.is_expired(secs)
            });
            if let Some(paid) = paid {
                let (number, text) = (paid.number, paid.invoice.as_str().to_owned());
                let hash = paid.invoice.payment_hash();
                self.log(&format!("the wallet hands out invoice {number} again, which was paid"));
                return Some(Ok(json!({ "type": "incoming", "invoice": text, "payment_hash": hash.to_string() })));
            }
        }
        let number = self.number();
        let made = invoice(NODE, number, amount, secs, expiry);
        let hash = made.payment_hash();
        let answer = json!({ "type": "incoming", "invoice": made.as_str(), "payment_hash": hash.to_string() });
        self.node.incoming.insert(hash, Incoming { number, invoice: made, settled_at: None });
        Some(Ok(answer))
    }

    fn look_up(&mut self, hash: PaymentHash) -> Result<Value, &'static str> {
        let secs = self.secs();
        if let Some(incoming) = self.node.incoming.get(&hash) {
            let mut found =
                json!({ "type": "incoming", "payment_hash": hash.to_string(), "amount": incoming.invoice.amount() });
            let state = match incoming.settled_at {
                Some(_) => "settled",
                None if incoming.invoice.is_expired(secs) => "expired",
                None => "pending",
            };
            let fields = found.as_object_mut().ok_or("INTERNAL")?;
            fields.insert("state".to_owned(), state.into());
            if incoming.settled_at.is_some() {
                fields.insert("preimage".to_owned(), preimage(incoming.number).to_hex().into());
                fields.insert("settled_at".to_owned(), secs.into());
            }
            return Ok(found);
        }
        let outgoing = self.node.outgoing.get(&hash).ok_or("NOT_FOUND")?;
        if self.node.profile.forgets_outgoing || outgoing.state == PaymentState::Nothing {
            return Err("NOT_FOUND");
        }
        let mut found = json!({ "type": "outgoing", "payment_hash": hash.to_string() });
        let fields = found.as_object_mut().ok_or("INTERNAL")?;
        let state = match outgoing.state {
            PaymentState::Nothing | PaymentState::InFlight => "pending",
            PaymentState::Succeeded => "settled",
            PaymentState::Failed => "failed",
        };
        fields.insert("state".to_owned(), state.into());
        if outgoing.state == PaymentState::Succeeded {
            fields.insert("preimage".to_owned(), preimage(outgoing.number).to_hex().into());
        }
        Ok(found)
    }

    fn pay(&mut self, request: &Request) -> Option<Result<Value, &'static str>> {
        let text = request.params.get("invoice").and_then(Value::as_str)?;
        let asked: Invoice = text.parse().ok()?;
        let (hash, late) = (asked.payment_hash(), self.decisions.number(5_000..600_000));
        self.pays_out(&asked);
        let Some(outgoing) = self.node.outgoing.get_mut(&hash) else { return Some(Err("OTHER")) };
        outgoing.asked += 1;
        let (number, behaviour, before) = (outgoing.number, outgoing.behaviour, outgoing.state);
        if matches!(before, PaymentState::InFlight | PaymentState::Succeeded) {
            if !outgoing.paid_by.contains(&request.id) {
                self.violation("paid-twice", &format!("payment {number} is asked for again while it is {before:?}"));
            }
            // A Lightning node does not pay one hash twice.
            return Some(Err("OTHER"));
        }
        outgoing.paid_by.insert(request.id);
        if !matches!(behaviour, PaymentBehaviour::Refuses) {
            outgoing.only_refused = false;
        }
        self.log(&format!("the wallet is asked for payment {number}: {behaviour:?}"));
        let end = |succeeds, answers: Option<EventId>| Action::PaymentEnds { hash, succeeds, answers };
        match behaviour {
            PaymentBehaviour::Pays => {
                self.set_payment_state(hash, PaymentState::Succeeded);
                Some(Ok(json!({ "preimage": preimage(number).to_hex(), "fees_paid": 10 })))
            }
            PaymentBehaviour::PaysSilently => {
                self.set_payment_state(hash, PaymentState::Succeeded);
                None
            }
            PaymentBehaviour::PaysLate => {
                self.set_payment_state(hash, PaymentState::InFlight);
                self.later(Duration::from_millis(late), end(true, Some(request.id)));
                None
            }
            PaymentBehaviour::SaysFailedAndPays => {
                self.set_payment_state(hash, PaymentState::InFlight);
                self.later(Duration::from_millis(late), end(true, None));
                Some(Err("PAYMENT_FAILED"))
            }
            PaymentBehaviour::Fails => {
                self.set_payment_state(hash, PaymentState::Failed);
                Some(Err("PAYMENT_FAILED"))
            }
            PaymentBehaviour::Refuses => Some(Err("INSUFFICIENT_BALANCE")),
        }
    }

    pub(crate) fn payment_ends(&mut self, hash: PaymentHash, succeeds: bool, answers: Option<EventId>) {
        self.set_payment_state(hash, if succeeds { PaymentState::Succeeded } else { PaymentState::Failed });
        let Some(number) = self.node.outgoing.get(&hash).map(|outgoing| outgoing.number) else { return };
        if let Some(request) = answers
            && self.node.away_until <= self.now()
        {
            let paid = json!({ "preimage": preimage(number).to_hex(), "fees_paid": 10 });
            self.node_answers(request, "pay_invoice", &if succeeds { Ok(paid) } else { Err("PAYMENT_FAILED") });
        }
    }

    fn set_payment_state(&mut self, hash: PaymentHash, state: PaymentState) {
        let Some(outgoing) = self.node.outgoing.get_mut(&hash) else { return };
        outgoing.state = state;
        let number = outgoing.number;
        self.log(&format!("payment {number} is {state:?}"));
        if state == PaymentState::Succeeded && self.invariants.said_not_paid.contains(&hash) {
            self.violation("not-paid-is-final", &format!("payment {number} was said not to be paid, and is"));
        }
    }

    /// Somebody pays an invoice of the service; returns the number of its preimage if that was possible.
    pub(crate) fn settle(&mut self, hash: PaymentHash) -> Option<u64> {
        let (now, secs) = (self.now(), self.secs());
        let incoming = self.node.incoming.get_mut(&hash)?;
        if incoming.settled_at.is_some() || incoming.invoice.is_expired(secs) {
            return None;
        }
        incoming.settled_at = Some(now);
        let (number, amount) = (incoming.number, incoming.invoice.amount());
        self.log(&format!("invoice {number} is paid"));
        if self.node.profile.notifies && self.node.away_until <= now {
            let text = json!({
                "notification_type": "payment_received",
                "notification": {
                    "type": "incoming", "state": "settled", "payment_hash": hash.to_string(), "amount": amount,
                    "preimage": preimage(number).to_hex(), "settled_at": secs,
                },
            });
            self.node_says(NOTIFICATION, None, &text.to_string(), "the wallet tells of a settlement");
        }
        Some(number)
    }
}
