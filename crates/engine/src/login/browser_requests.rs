//! The logins that browsers begin, as many as there is room for. The caller runs each request to its end: a browser that disconnects
//! must not interrupt a change between the store and memory.

use std::time::Duration;

use super::Logins;
use super::page_view::VisitError;
use super::start::{BrowserLogin, BrowserLoginStarted, ChildLogin};
use super::unused_logins::NoRoom;
use crate::kernel::request_errors::StartError;
use crate::ports::StoreError;
use crate::{ClientNetwork, StreamId};

/// When a browser may try again that got no login because too many operations are open.
const RETRY_AFTER: Duration = Duration::from_secs(10);

impl Logins {
    /// A browser opens the page of a reusable login: it gets a login of its own, or the one that it has there already, by the
    /// cookies that it has shown (logins and their values).
    ///
    /// As anybody can start one, they are bounded, in all and by `network`: another in which nobody has named a key may have to
    /// end for it. They have no events: what happens in them are events of the reusable login.
    ///
    /// # Errors
    /// [`VisitError`].
    pub async fn open_child_login(
        &self,
        reusable: StreamId,
        page_secret: &str,
        cookies: &[(StreamId, String)],
        network: ClientNetwork,
    ) -> Result<ChildLogin, VisitError> {
        let return_url = self.check_reusable(reusable, page_secret).await?;
        if let Some(own) = self.own_child_login(reusable, cookies).await? {
            return Ok(own);
        }
        let (login, unused) = (self.core.ids.stream_id(), self.child_logins.unused());
        let replaced = unused.begin(login, network)?;
        let started = async {
            self.end_all_unused(replaced).await?;
            self.start_child_login(login, reusable, return_url).await
        };
        started.await.map_err(|error| {
            unused.remove(login);
            match error {
                StartError::TooManyOpen => NoRoom { is_of_network: false, retry_after: RETRY_AFTER }.into(),
                StartError::Store(error) => VisitError::Store(error),
                _ => VisitError::Store(StoreError::Unexpected("a login does not start")),
            }
        })
    }

    /// Starts a login of the user of a browser that is here already. The caller gives the browser its cookie, and
    /// removes the login when its outcome was used ([`forget`](Self::forget)). Logins are bounded, in all and by
    /// visitor: an unused one may have to end.
    pub async fn start_in_browser(&self, request: BrowserLogin) -> Result<BrowserLoginStarted, StartError> {
        let login = self.core.ids.stream_id();
        let unused = if request.is_of_operator { &self.operator_logins } else { &self.client_logins };
        let replaced = unused.begin(login, request.network).map_err(|NoRoom { .. }| StartError::TooManyOpen)?;
        let started = async {
            let replaced = self.end_all_unused(replaced).await?;
            let started = self.start_browser_login(login, request).await?;
            Ok(BrowserLoginStarted { replaced, ..started })
        };
        started.await.inspect_err(|_| _ = unused.remove(login))
    }

    /// Whether the user of a login begun in a browser is at it: its page waits or was just seen, or a key is named.
    pub fn is_in_use(&self, id: StreamId) -> bool {
        self.core.index.get(id).is_some_and(|open| !open.done) && !self.unused_logins(id).is_idle(id)
    }
}
