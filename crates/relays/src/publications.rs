//! Events of ours that each of our relays shall have: the service's profile and its relay list.
//!
//! A relay gets each once per connection until it has said `OK`, and nothing after that. What it has accepted is
//! remembered by whoever announces (`own/`), beyond this connection and this process.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use usher_protocol::EventId;

/// How often an event is tried at one relay, on as many connections, when the relay never says anything about it.
const MOST_TRIES: u8 = 5;

/// An event that a relay shall have.
#[derive(Clone, Debug)]
pub(crate) struct Publication {
    pub(crate) id: EventId,
    /// The whole `EVENT` message.
    pub(crate) frame: Utf8Bytes,
}

/// What one relay shall have.
#[derive(Debug, Default)]
pub(crate) struct Publications {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    items: Vec<Item>,
    heard: Option<Arc<Notify>>,
}

#[derive(Debug)]
struct Item {
    publication: Publication,
    outcome: Outcome,
    due: bool,
    tries: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Open,
    Accepted,
    Refused,
}

impl Publications {
    /// These it shall have, in place of what was said before; `heard` is told when it accepts one. Those that stay keep
    /// what is known of them. True when there is something to send.
    pub(crate) fn set(&self, publications: &[Publication], heard: &Arc<Notify>) -> bool {
        let mut inner = self.inner.lock();
        inner.items.retain(|item| publications.iter().any(|wanted| wanted.id == item.publication.id));
        for publication in publications {
            if !inner.items.iter().any(|item| item.publication.id == publication.id) {
                let publication = publication.clone();
                inner.items.push(Item { publication, outcome: Outcome::Open, due: true, tries: 0 });
            }
        }
        inner.heard = Some(Arc::clone(heard));
        inner.items.iter().any(|item| item.due)
    }

    /// A connection begins: what the relay has not spoken about is sent once more.
    pub(crate) fn begin(&self) {
        for item in &mut self.inner.lock().items {
            item.due = item.outcome == Outcome::Open && item.tries < MOST_TRIES;
        }
    }

    /// What is to be sent now.
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

    /// The relay says whether it takes an event, this or any other.
    pub(crate) fn settle(&self, id: EventId, accepted: bool) {
        let mut inner = self.inner.lock();
        let Some(item) = inner.items.iter_mut().find(|item| item.publication.id == id) else { return };
        item.outcome = if accepted { Outcome::Accepted } else { Outcome::Refused };
        if let Some(heard) = &inner.heard {
            heard.notify_one();
        }
    }

    /// Whether the relay has accepted this event.
    pub(crate) fn has_accepted(&self, id: EventId) -> bool {
        let inner = self.inner.lock();
        inner.items.iter().any(|item| item.publication.id == id && item.outcome == Outcome::Accepted)
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
    fn once_per_connection_until_the_relay_has_spoken() {
        let (publications, heard) = (Publications::default(), Arc::new(Notify::new()));
        assert!(publications.set(&[publication(1), publication(2)], &heard));
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
        assert!(!publications.set(&[publication(1)], &heard), "it has it");
        assert!(publications.set(&[publication(3)], &heard));
        assert_eq!(ids(&publications), [3]);
    }

    #[test]
    fn a_relay_that_never_speaks_is_left_alone() {
        let (publications, heard) = (Publications::default(), Arc::new(Notify::new()));
        publications.set(&[publication(1)], &heard);
        let sent: usize = (0..100)
            .map(|_| {
                publications.begin();
                ids(&publications).len()
            })
            .sum();
        assert_eq!(sent, usize::from(MOST_TRIES));
    }
}
