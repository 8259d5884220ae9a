//! The requests and the state of a running wallet, and its file.

use super::{FileError, KnownService, Request, SavedRequest, Subscription, Verdict, Wallet, WalletFile};

impl WalletFile {
    /// A request that another program has saved since the file was read.
    pub fn next_saved(&mut self, wallet: &Wallet) -> Result<Option<Request>, FileError> {
        for saved in Self::load(self.path())?.requests {
            if self.requests.iter().all(|known| known.event.id != saved.event.id) {
                let request = wallet.read(&saved.event).filter(|_| !saved.answered);
                self.requests.push(saved);
                if request.is_some() {
                    return Ok(request);
                }
            }
        }
        Ok(None)
    }

    /// The saved requests that can still be answered.
    pub fn open_requests(&self, wallet: &Wallet) -> Vec<Request> {
        let open = self.requests.iter().filter(|saved| !saved.answered).filter_map(|saved| wallet.read(&saved.event));
        open.filter(|request| self.verdict(wallet, request).is_none()).collect()
    }

    /// Adds the services and subscriptions of a running wallet; changes by another program are kept.
    pub fn take_over(&mut self, wallet: &Wallet) {
        for service in wallet.services() {
            KnownService::remember(&mut self.services, &service);
        }
        self.take_over_subscriptions(wallet.subscriptions());
    }

    pub(super) fn take_over_subscriptions(&mut self, subscriptions: Vec<Subscription>) {
        for mut subscription in subscriptions {
            if let Some(known) = self.subscriptions.iter().find(|known| known.id == subscription.id) {
                subscription.closed = known.closed.clone().or(subscription.closed);
                subscription.payments = subscription.payments.max(known.payments);
            }
            Subscription::remember(&mut self.subscriptions, subscription);
        }
    }

    /// The final reply to a request, by any program that uses this file; `None` if there is none or it is unknown.
    pub fn verdict(&self, wallet: &Wallet, request: &Request) -> Option<Verdict> {
        let mut answered = self.requests.iter().filter(|saved| saved.answered);
        // A repeated request is another event.
        let same = |saved: &&SavedRequest| {
            saved.event.id == request.event.id
                || wallet.read(&saved.event).is_some_and(|read| read.id == request.id && read.from == request.from)
        };
        answered.find(same)?.verdict
    }
}
