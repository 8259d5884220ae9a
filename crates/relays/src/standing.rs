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
pub(crate) struct Announcement {
    pub(crate) id: EventId,
    /// The whole `EVENT` message.
    pub(crate) frame: Utf8Bytes,
}

/// What one relay shall have.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    items: Vec<Item>,
    heard: Option<Arc<Notify>>,
}

#[derive(Debug)]
struct Item {
    announcement: Announcement,
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

impl Standing {
    /// These it shall have, in place of what was said before; `heard` is told when it accepts one. Those that stay keep
    /// what is known of them. True when there is something to send.
    pub(crate) fn set(&self, announcements: &[Announcement], heard: &Arc<Notify>) -> bool {
        let mut inner = self.inner.lock();
        inner.items.retain(|item| announcements.iter().any(|wanted| wanted.id == item.announcement.id));
        for announcement in announcements {
            if !inner.items.iter().any(|item| item.announcement.id == announcement.id) {
                let announcement = announcement.clone();
                inner.items.push(Item { announcement, outcome: Outcome::Open, due: true, tries: 0 });
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
    pub(crate) fn take_due(&self) -> Vec<Announcement> {
        let mut inner = self.inner.lock();
        let due = inner.items.iter_mut().filter(|item| item.due);
        due.map(|item| {
            item.due = false;
            item.tries += 1;
            item.announcement.clone()
        })
        .collect()
    }

    /// The relay says whether it takes an event, this or any other.
    pub(crate) fn settle(&self, id: EventId, accepted: bool) {
        let mut inner = self.inner.lock();
        let Some(item) = inner.items.iter_mut().find(|item| item.announcement.id == id) else { return };
        item.outcome = if accepted { Outcome::Accepted } else { Outcome::Refused };
        if let Some(heard) = &inner.heard {
            heard.notify_one();
        }
    }

    /// Whether the relay has accepted this event.
    pub(crate) fn has_accepted(&self, id: EventId) -> bool {
        let inner = self.inner.lock();
        inner.items.iter().any(|item| item.announcement.id == id && item.outcome == Outcome::Accepted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announcement(number: u8) -> Announcement {
        Announcement { id: EventId::from_byte_array([number; 32]), frame: "x".into() }
    }

    fn ids(standing: &Standing) -> Vec<u8> {
        standing.take_due().iter().map(|announcement| announcement.id.as_bytes()[0]).collect()
    }

    #[test]
    fn once_per_connection_until_the_relay_has_spoken() {
        let (standing, heard) = (Standing::default(), Arc::new(Notify::new()));
        assert!(standing.set(&[announcement(1), announcement(2)], &heard));
        assert_eq!(ids(&standing), [1, 2]);
        assert!(ids(&standing).is_empty());
        standing.settle(announcement(1).id, true);
        standing.begin();
        assert_eq!(ids(&standing), [2]);
        assert!(standing.has_accepted(announcement(1).id));
        standing.settle(announcement(2).id, false);
        standing.begin();
        assert!(ids(&standing).is_empty(), "refused is refused");
        assert!(!standing.has_accepted(announcement(2).id));
        assert!(!standing.set(&[announcement(1)], &heard), "it has it");
        assert!(standing.set(&[announcement(3)], &heard));
        assert_eq!(ids(&standing), [3]);
    }

    #[test]
    fn a_relay_that_never_speaks_is_left_alone() {
        let (standing, heard) = (Standing::default(), Arc::new(Notify::new()));
        standing.set(&[announcement(1)], &heard);
        let sent: usize = (0..100)
            .map(|_| {
                standing.begin();
                ids(&standing).len()
            })
            .sum();
        assert_eq!(sent, usize::from(MOST_TRIES));
    }
}
