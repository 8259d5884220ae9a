//! The network between wallet and mint: it loses requests and responses, and the mint hangs, fails or sends garbage.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::sleep;
use usher_tickets::{BrokenOff, MintTransport};

use super::World;

/// The mint's address.
pub(super) const MINT: &str = "https://mint.example";

/// The network.
pub(super) struct Network(pub(super) Arc<World>);

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Fine,
    /// It does not leave.
    NotSent,
    /// It does not arrive, and nobody says so.
    Lost,
    /// It is done, and the response is lost.
    ResponseLost,
    /// It is done, and nobody responds for ever.
    Hangs,
    /// It is done, and the mint says that it failed.
    Fails,
    /// It is done, and the response is garbage.
    Garbage,
}

#[async_trait]
impl MintTransport for Network {
    async fn send(&self, method: &str, url: &str, body: &[u8]) -> Result<(u16, Vec<u8>), BrokenOff> {
        const FATES: [Fate; 6] =
            [Fate::NotSent, Fate::Lost, Fate::ResponseLost, Fate::Hangs, Fate::Fails, Fate::Garbage];
        let path = url.strip_prefix(MINT).unwrap_or(url);
        self.0.instant("before a request leaves").await;
        let (fate, there, back) = {
            let mut state = self.0.state.lock();
            let chances = state.faults;
            let fate = if state.goes_wrong(chances) { state.decisions.pick(&FATES, Fate::Lost) } else { Fate::Fine };
            if fate != Fate::Fine {
                state.note(&format!("{method} {path}: {fate:?}"));
            }
            (fate, state.decisions.delay(1..3_000), state.decisions.delay(1..3_000))
        };
        match fate {
            Fate::NotSent => return Err(BrokenOff { sent: false }),
            Fate::Lost => {
                sleep(there).await;
                return Err(BrokenOff { sent: true });
            }
            _ => sleep(there).await,
        }
        let (status, response) = {
            let mut state = self.0.state.lock();
            let response = state.mint.handle(method, path, body);
            if response.0 != 200 {
                state.note(&format!("{method} {path}: {}", response.1));
            }
            response
        };
        self.0.instant("after the mint has done it").await;
        sleep(back).await;
        match fate {
            Fate::ResponseLost => Err(BrokenOff { sent: true }),
            Fate::Hangs => {
                sleep(Duration::from_secs(100_000)).await;
                Err(BrokenOff { sent: true })
            }
            Fate::Fails => Ok((500, b"{}".to_vec())),
            Fate::Garbage => Ok((200, b"<html>".to_vec())),
            Fate::Fine | Fate::NotSent | Fate::Lost => Ok((status, response.to_string().into_bytes())),
        }
    }
}
