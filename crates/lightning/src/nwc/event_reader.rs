//! Reads responses, notifications and announcements of the backend, and reports new relay connections.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use lru::LruCache;
use nostr::{Event, EventId};
use tokio::sync::mpsc;
use tracing::debug;
use usher_engine::ports::{LightningError, LightningNotification};
use usher_protocol::envelope::replies_to;
use usher_protocol::nwc;

use super::client::Client;
use super::relay_task::ReceivedEvent;
use super::response::{Announcement, Notification, Response};

/// Remembered notification events, to drop copies from several relays.
const SEEN: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2047);

/// Remembered notifications: a backend sends each in both encryptions, one after the other.
const REPORTED: usize = 256;

impl Client {
    /// Reads events from the relays.
    pub(crate) async fn read_events(
        &self,
        mut received: mpsc::Receiver<ReceivedEvent>,
        notifications: mpsc::Sender<LightningNotification>,
    ) {
        let mut seen = LruCache::new(SEEN);
        let mut reported = VecDeque::with_capacity(REPORTED);
        // Whether the backend encrypts notifications with NIP-44; the copies in NIP-04 are then ignored.
        let mut uses_nip44 = false;
        while let Some(ReceivedEvent { relay, event }) = received.recv().await {
            let wanted = match event.kind.as_u16() {
                nwc::RESPONSE => replies_to(&event).is_some_and(|request| self.is_wanted(&request)),
                nwc::NOTIFICATION_NIP04 if uses_nip44 => false,
                nwc::INFO | nwc::NOTIFICATION | nwc::NOTIFICATION_NIP04 => !seen.contains(&event.id),
                _ => false,
            };
            if !wanted || event.pubkey != self.shared.uri.backend || event.verify().is_err() {
                continue;
            }
            let notification = match event.kind.as_u16() {
                nwc::RESPONSE => {
                    self.liveness.seen(relay);
                    self.read_response(&event)
                }
                nwc::INFO => {
                    seen.put(event.id, ());
                    self.read_announcement(&event);
                    // The backend may have changed its version.
                    uses_nip44 = false;
                    None
                }
                kind => {
                    seen.put(event.id, ());
                    self.liveness.seen(relay);
                    let notification = self.read_notification(&event);
                    uses_nip44 |= kind == nwc::NOTIFICATION && notification.is_some();
                    notification
                }
            };
            let Some(notification) = notification.filter(|notification| !reported.contains(notification)) else {
                continue;
            };
            reported.truncate(REPORTED - 1);
            reported.push_front(notification.clone());
            // A full channel holds up the relays.
            if notifications.send(notification).await.is_err() {
                return;
            }
        }
    }

    fn read_announcement(&self, event: &Event) {
        let tag = |name: &str| {
            let tag = event.tags.iter().find(|tag| tag.as_slice().first().is_some_and(|first| first == name));
            tag.and_then(|tag| tag.content())
        };
        let announcement = Announcement::read(&event.content, tag("encryption"), tag("notifications"));
        let is_new = self.announced.send_if_modified(|announced| {
            let newer = announced.as_ref().is_none_or(|(at, _)| event.created_at >= *at);
            if newer {
                *announced = Some((event.created_at, announcement));
            }
            newer
        });
        if is_new {
            self.liveness.announced();
        }
    }

    /// Whether the response to this request is awaited.
    fn is_wanted(&self, request: &EventId) -> bool {
        self.sender.is_awaited(request) || self.payments.lock().contains(request) || self.liveness.is_probe(request)
    }

    /// Hands a response to the task that waits for it. A succeeded payment is reported even if no task waits.
    fn read_response(&self, event: &Event) -> Option<LightningNotification> {
        let request = replies_to(event)?;
        let waiter = self.sender.take_waiter(&request);
        let payment = self.payments.lock().get(&request).copied();
        if waiter.is_none() && payment.is_none() {
            return None;
        }
        let response = match self.cipher.open(&event.content) {
            Ok(text) => Response::parse(&text)
                .map(|response| response.created_at(event.created_at.as_secs()))
                .map_err(|error| LightningError::Unknown(error.to_string())),
            Err(_) => Err(LightningError::Unknown("the response cannot be decrypted".to_owned())),
        };
        let paid = response.clone().and_then(|response| response.paid()).ok();
        let succeeded = payment.zip(paid).filter(|(hash, paid)| paid.preimage.payment_hash() == *hash);
        if succeeded.is_some() {
            // Reported once: copies may arrive over several relays.
            self.payments.lock().pop(&request);
        }
        match waiter {
            Some(waiter) => {
                // Full: the task has a response already. Closed: the task has gone.
                let _ = waiter.try_send(response);
                None
            }
            None => succeeded.map(|(hash, paid)| LightningNotification::Sent(hash, paid)),
        }
    }

    fn read_notification(&self, event: &Event) -> Option<LightningNotification> {
        let text = self.cipher.open(&event.content).ok()?;
        match Notification::parse(&text) {
            Ok(Some(Notification::Received(hash, settlement))) => {
                Some(LightningNotification::Settled(hash, settlement))
            }
            Ok(Some(Notification::Sent(hash, paid))) => Some(LightningNotification::Sent(hash, paid)),
            Ok(None) => None,
            Err(_) => {
                debug!("the Lightning backend sent an invalid notification");
                None
            }
        }
    }

    /// Records each new connection.
    pub(crate) async fn watch_connections(&self) {
        let mut up = self.shared.up.subscribe();
        let mut before = up.borrow_and_update().clone();
        while up.changed().await.is_ok() {
            let now = up.borrow_and_update().clone();
            if now.iter().zip(&before).any(|(now, before)| *now && !before) {
                self.liveness.connected();
            }
            before = now;
        }
    }

    /// Reports when the backend is reachable again.
    pub(crate) async fn report_reconnections(&self, notifications: mpsc::Sender<LightningNotification>) {
        let mut up = self.shared.up.subscribe();
        let _ = up.wait_for(|up| up.contains(&true)).await;
        while up.wait_for(|up| !up.contains(&true)).await.is_ok() {
            if up.wait_for(|up| up.contains(&true)).await.is_err()
                || notifications.send(LightningNotification::Reconnected).await.is_err()
            {
                return;
            }
        }
    }
}
