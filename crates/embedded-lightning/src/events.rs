//! Events of the node: each is recorded, passed to the engine, then acknowledged. Events repeat after a restart.

use std::sync::Arc;

use ldk_node::Event;
use ldk_node::lightning::events::{ClosureReason, PaymentFailureReason};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use usher_engine::ports::{CompletedPayment, LightningNotification};
use usher_protocol::message::{PaymentHash, Preimage};

use crate::channel_records::Closure;
use crate::node_context::NodeContext;

pub(crate) async fn run(
    inner: Arc<NodeContext>,
    notifications: mpsc::Sender<LightningNotification>,
    stop: CancellationToken,
) {
    let _ = notifications.send(LightningNotification::Reconnected).await;
    let node = inner.node();
    if record_usable_channels(&inner).is_err() {
        return;
    }
    loop {
        let event = tokio::select! {
            () = stop.cancelled() => return,
            event = node.next_event_async() => event,
        };
        let Ok(notification) = record(&inner, event) else { return };
        if let Some(notification) = notification {
            tokio::select! {
                () = stop.cancelled() => return,
                sent = notifications.send(notification) => if sent.is_err() { return },
            }
        }
        fail::fail_point!("before-lightning-event-handled", |_| std::process::abort());
        if node.event_handled().is_err() {
            return;
        }
    }
}

/// A kill may lose the event that a channel is funded; a usable channel is.
fn record_usable_channels(inner: &NodeContext) -> std::io::Result<()> {
    let channels = inner.node().list_channels();
    channels
        .iter()
        .filter(|channel| channel.is_channel_ready)
        .try_for_each(|channel| inner.store.channel_funded(channel.user_channel_id.0, inner.now()))
}

/// Records an event, and returns what the engine should know.
fn record(inner: &NodeContext, event: Event) -> std::io::Result<Option<LightningNotification>> {
    let now = inner.now();
    match event {
        Event::PaymentSuccessful { payment_hash, payment_preimage: Some(preimage), fee_paid_msat, .. } => {
            let hash = PaymentHash::from_bytes(payment_hash.0);
            let paid = CompletedPayment { preimage: Preimage::from_bytes(preimage.0), fees_paid: fee_paid_msat };
            inner.store.payment_succeeded(hash, &paid, now)?;
            inner.outcomes.send_modify(|count| *count += 1);
            Ok(Some(LightningNotification::Sent(hash, paid)))
        }
        Event::PaymentFailed { payment_hash: Some(hash), reason, .. } => {
            inner.store.payment_failed(PaymentHash::from_bytes(hash.0), failure(reason), now)?;
            inner.outcomes.send_modify(|count| *count += 1);
            Ok(None)
        }
        Event::PaymentReceived { payment_hash, .. } => {
            let hash = PaymentHash::from_bytes(payment_hash.0);
            inner.store.invoice_paid(hash)?;
            let Some(settlement) = inner.settlement(hash) else { return Ok(None) };
            if settlement.skimmed_fee > 0 {
                inner.store.record_skimmed_fee(hash, settlement.skimmed_fee)?;
            }
            Ok(Some(LightningNotification::Settled(hash, settlement)))
        }
        Event::ChannelPending { user_channel_id, .. } => {
            inner.store.channel_funded(user_channel_id.0, now)?;
            Ok(None)
        }
        Event::ChannelClosed { channel_id, user_channel_id, reason, .. } => {
            inner.store.channel_closed(user_channel_id.0, channel_id.0, closure(reason.as_ref()), now)?;
            report_closure(&channel_id.to_string(), reason.as_ref());
            Ok(None)
        }
        Event::ChannelReady { channel_id, user_channel_id, .. } => {
            inner.store.channel_funded(user_channel_id.0, now)?;
            tracing::info!(channel = %channel_id, "a Lightning channel can be used");
            Ok(None)
        }
        _ => Ok(None),
    }
}

const fn failure(reason: Option<PaymentFailureReason>) -> &'static str {
    match reason {
        Some(PaymentFailureReason::RecipientRejected) => "the payee refused the payment",
        Some(PaymentFailureReason::RouteNotFound) => {
            "no route to the payee within the fee limit, or not enough money in the channels"
        }
        Some(PaymentFailureReason::RetriesExhausted) => "all routes to the payee that were tried failed",
        Some(PaymentFailureReason::PaymentExpired) => "the invoice expired before the payment arrived",
        Some(PaymentFailureReason::UnknownRequiredFeatures) => {
            "the invoice needs a feature that the node does not have"
        }
        _ => "the node could not send the payment",
    }
}

const fn closure(reason: Option<&ClosureReason>) -> Closure {
    match reason {
        Some(ClosureReason::OutdatedChannelManager) => Closure::AfterKill,
        Some(
            ClosureReason::LegacyCooperativeClosure
            | ClosureReason::CounterpartyInitiatedCooperativeClosure
            | ClosureReason::LocallyInitiatedCooperativeClosure,
        ) => Closure::Cooperative,
        _ => Closure::Forced,
    }
}

fn report_closure(channel: &str, reason: Option<&ClosureReason>) {
    let said = reason.map(ToString::to_string);
    match closure(reason) {
        Closure::AfterKill => tracing::error!(
            channel,
            "a Lightning channel was closed because the process was killed at the wrong instant; its money returns to the \
             chain, less fees"
        ),
        Closure::Cooperative => tracing::info!(channel, reason = said, "a Lightning channel was closed"),
        Closure::Forced => tracing::warn!(
            channel,
            reason = said,
            "a Lightning channel was closed; its money returns to the chain, less fees"
        ),
    }
}
