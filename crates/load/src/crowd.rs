//! Users at once: each with a wallet on the relay, and a connection of the app's for them.

use anyhow::Result;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use crate::http::{self, Connection};
use crate::stage::Stage;
use crate::wallet::{Identity, Wallet};

/// Wallets that connect at the same time.
const CONNECT_AT_ONCE: usize = 100;

/// A user.
pub(crate) struct Person {
    /// Who the user is in each round: another key each time.
    pub(crate) identities: Vec<Identity>,
    pub(crate) wallet: Wallet,
    pub(crate) app: Connection,
}

/// Connects so many users. The apps come last: the service closes connections that are idle for long.
pub(crate) async fn crowd(stage: &Stage, users: usize, rounds: usize) -> Result<Vec<Person>> {
    let wallets = stream::iter((0..users).map(|_| async move {
        let identities = (0..rounds).map(|_| stage.identity()).collect::<Result<Vec<_>>>()?;
        let wallet = Wallet::connect(stage.relay.address()?, &identities).await?;
        anyhow::Ok((identities, wallet))
    }));
    let wallets: Vec<_> = wallets.buffer_unordered(CONNECT_AT_ONCE).try_collect().await?;
    let mut people = Vec::with_capacity(users);
    for (identities, wallet) in wallets {
        let mut app = Connection::open(stage.service.address()).await?;
        app.call(&http::get("/health", "")).await?.ok()?;
        people.push(Person { identities, wallet, app });
    }
    Ok(people)
}
