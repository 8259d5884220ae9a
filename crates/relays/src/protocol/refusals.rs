//! Refusals of the relay, as the status shows them.

use crate::relay_handle::RelayHandle;

/// What was last reported to the [`RelayHandle`], so that only changes are reported: most messages change nothing.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    subscription: Option<Service>,
    events: Option<Service>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Service {
    Served,
    Refused(String),
}

impl Refusals {
    /// The relay serves our subscription, or refuses it.
    pub(super) fn subscription(&mut self, handle: &RelayHandle, refusal: Option<String>) {
        let service = refusal.map_or(Service::Served, Service::Refused);
        if self.subscription.as_ref() != Some(&service) {
            handle.set_subscribed(service == Service::Served);
            self.subscription = Some(service);
            self.report(handle);
        }
    }

    /// The relay accepts an event of ours, or refuses it.
    pub(super) fn events(&mut self, handle: &RelayHandle, refusal: Option<String>) {
        let service = refusal.map_or(Service::Served, Service::Refused);
        if self.events.as_ref() != Some(&service) {
            self.events = Some(service);
            self.report(handle);
        }
    }

    fn report(&self, handle: &RelayHandle) {
        let refused = |what: &str, service: &Option<Service>| match service {
            Some(Service::Refused(reason)) => Some(format!("{what}: {reason}")),
            Some(Service::Served) | None => None,
        };
        let parts: Vec<_> = [refused("subscription", &self.subscription), refused("events", &self.events)]
            .into_iter()
            .flatten()
            .collect();
        handle.set_refusal((!parts.is_empty()).then(|| parts.join("; ")));
    }
}
