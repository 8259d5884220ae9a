//! Concurrent users: each has a wallet on the relay and an app connection.

use anyhow::Result;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use crate::fixture::Fixture;
use crate::http::{self, Connection};
use crate::wallet::{Identity, Wallet};

/// Wallets that connect at the same time.
const CONNECT_AT_ONCE: usize = 100;

/// A user.
pub(crate) struct ConnectedUser {
    /// Who the user is in each round: another key each time.
    pub(crate) identities: Vec<Identity>,
    pub(crate) wallet: Wallet,
    pub(crate) app: Connection,
}

/// Connects so many users. The apps come last: the service closes connections that are idle for long.
pub(crate) async fn connect_users(fixture: &Fixture, users: usize, rounds: usize) -> Result<Vec<ConnectedUser>> {
    let wallets = stream::iter((0..users).map(|_| async move {
        let identities = (0..rounds).map(|_| fixture.identity()).collect::<Result<Vec<_>>>()?;
        let wallet = Wallet::connect(fixture.relay.address()?, &identities).await?;
        anyhow::Ok((identities, wallet))
    }));
    let wallets: Vec<_> = wallets.buffer_unordered(CONNECT_AT_ONCE).try_collect().await?;
    let mut people = Vec::with_capacity(users);
    for (identities, wallet) in wallets {
        let mut app = Connection::open(fixture.service.address()).await?;
        // With the token: the service keeps only so many connections of strangers.
        app.call(&http::get("/version", fixture.instance.token())).await?.ok()?;
        people.push(ConnectedUser { identities, wallet, app });
    }
    Ok(people)
}
