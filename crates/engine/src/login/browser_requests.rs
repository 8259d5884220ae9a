//! Logins begun by browsers, with limits. The caller runs each request to completion: a disconnecting browser must not
//! interrupt a change between the store and memory.

use std::time::Duration;

use super::Logins;
use super::page_view::VisitError;
use super::start::{BrowserLogin, BrowserLoginStarted, ChildLogin};
use super::unused_logins::NoRoom;
use crate::kernel::request_errors::StartError;
use crate::ports::StoreError;
use crate::{ClientNetwork, StreamId};

/// When a browser may retry after a refusal because too many operations are open.
const RETRY_AFTER: Duration = Duration::from_secs(10);

impl Logins {
    /// Opens the page of a reusable login: the browser gets its own login there, a new one or, by its cookies (logins
    /// and their values), an existing one.
    ///
    /// Anybody can start one, so they are limited in total and by `network`: an unused login may be ended to make room.
    /// They have no events of their own; events go to the stream of the reusable login.
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

    /// Starts a login for a browser. The caller gives the browser its cookie, and removes the login after using its
    /// outcome ([`forget`](Self::forget)). Logins are limited in total and by visitor: an unused one may be ended to
    /// make room.
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

    /// Whether a user is working on a login begun in a browser: its page is open or was just seen, or a key was named.
    pub fn is_in_use(&self, id: StreamId) -> bool {
        self.core.index.get(id).is_some_and(|open| !open.done) && !self.unused_logins(id).is_idle(id)
    }
}
