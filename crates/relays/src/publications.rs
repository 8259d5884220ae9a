//! The service's events that each of its relays should have: its profile and its relay list.
//!
//! Each is sent to a relay once per connection until the relay acknowledges it. `service_profile` stores what each
//! relay has accepted, across connections and restarts.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use usher_protocol::EventId;

/// How often an event is sent to a relay that never acknowledges it, once per connection.
const MAX_TRIES: u8 = 5;

/// An event that a relay should have.
#[derive(Clone, Debug)]
pub(crate) struct Publication {
    pub(crate) id: EventId,
    /// The whole `EVENT` message.
    pub(crate) frame: Utf8Bytes,
}

#[derive(Debug, Default)]
pub(crate) struct Publications {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    items: Vec<Item>,
    accepted_one: Option<Arc<Notify>>,
}

#[derive(Debug)]
struct Item {
    publication: Publication,
    acknowledgement: Acknowledgement,
    due: bool,
    tries: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acknowledgement {
    Open,
    Accepted,
    Refused,
}

impl Publications {
    /// Replaces the wanted events; notifies `accepted_one` when one is accepted. Events that stay keep their state.
    /// True if there is something to send.
    pub(crate) fn set(&self, publications: &[Publication], accepted_one: &Arc<Notify>) -> bool {
        let mut inner = self.inner.lock();
        inner.items.retain(|item| publications.iter().any(|wanted| wanted.id == item.publication.id));
        for publication in publications {
            if !inner.items.iter().any(|item| item.publication.id == publication.id) {
                let publication = publication.clone();
                inner.items.push(Item { publication, acknowledgement: Acknowledgement::Open, due: true, tries: 0 });
            }
        }
        inner.accepted_one = Some(Arc::clone(accepted_one));
        inner.items.iter().any(|item| item.due)
    }

    /// Handles a new connection: events without an acknowledgement are sent once more.
    pub(crate) fn begin(&self) {
        for item in &mut self.inner.lock().items {
            item.due = item.acknowledgement == Acknowledgement::Open && item.tries < MAX_TRIES;
        }
    }

    pub(crate) fn take_due(&self) -> Vec<Publication> {
        let mut inner = self.inner.lock();
        let due = inner.items.iter_mut().filter(|item| item.due);
        due.map(|item| {
            item.due = false;
            item.tries += 1;
            item.publication.clone()
        })
        .collect()
    }

    /// Handles an acknowledgement, of these or any other events.
    pub(crate) fn settle(&self, id: EventId, accepted: bool) {
        let mut inner = self.inner.lock();
        let Some(item) = inner.items.iter_mut().find(|item| item.publication.id == id) else { return };
        item.acknowledgement = if accepted { Acknowledgement::Accepted } else { Acknowledgement::Refused };
        if let Some(accepted_one) = &inner.accepted_one {
            accepted_one.notify_one();
        }
    }

    pub(crate) fn has_accepted(&self, id: EventId) -> bool {
        let inner = self.inner.lock();
        inner.items.iter().any(|item| item.publication.id == id && item.acknowledgement == Acknowledgement::Accepted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publication(number: u8) -> Publication {
        Publication { id: EventId::from_byte_array([number; 32]), frame: "x".into() }
    }

    fn ids(publications: &Publications) -> Vec<u8> {
        publications.take_due().iter().map(|publication| publication.id.as_bytes()[0]).collect()
    }

    #[test]
    fn sent_once_per_connection_until_acknowledged() {
        let (publications, accepted_one) = (Publications::default(), Arc::new(Notify::new()));
        assert!(publications.set(&[publication(1), publication(2)], &accepted_one));
        assert_eq!(ids(&publications), [1, 2]);
        assert!(ids(&publications).is_empty());
        publications.settle(publication(1).id, true);
        publications.begin();
        assert_eq!(ids(&publications), [2]);
        assert!(publications.has_accepted(publication(1).id));
        publications.settle(publication(2).id, false);
        publications.begin();
        assert!(ids(&publications).is_empty(), "refused is refused");
        assert!(!publications.has_accepted(publication(2).id));
        assert!(!publications.set(&[publication(1)], &accepted_one), "it has it");
        assert!(publications.set(&[publication(3)], &accepted_one));
        assert_eq!(ids(&publications), [3]);
    }

    #[test]
    fn attempts_without_acknowledgment_are_limited() {
        let (publications, accepted_one) = (Publications::default(), Arc::new(Notify::new()));
        publications.set(&[publication(1)], &accepted_one);
        let sent: usize = (0..100)
            .map(|_| {
                publications.begin();
                ids(&publications).len()
            })
            .sum();
        assert_eq!(sent, usize::from(MAX_TRIES));
    }
}
