//! The network between wallet and mint, which loses requests and responses, and where the mint hangs, fails or sends garbage;
//! and the disk with the wallet's records, which takes its time, and fails at times.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::sleep;
use usher_engine::ports::StoreError;
use usher_testing::ports::{Interceptor, Run, StoreCall};
use usher_tickets::{MintTransport, NoResponse};

use super::world::World;
use crate::ports::disk::wait;

pub(super) const MINT: &str = "https://mint.example";

pub(super) struct Network(pub(super) Arc<World>);

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestFault {
    None,
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
    async fn send(&self, method: &str, url: &str, body: &[u8]) -> Result<(u16, Vec<u8>), NoResponse> {
        const FAULTS: [RequestFault; 6] = [
            RequestFault::NotSent,
            RequestFault::Lost,
            RequestFault::ResponseLost,
            RequestFault::Hangs,
            RequestFault::Fails,
            RequestFault::Garbage,
        ];
        let path = url.strip_prefix(MINT).unwrap_or(url);
        self.0.instant("before a request leaves").await;
        let (fault, there, back) = {
            let mut state = self.0.state.lock();
            let chances = state.faults;
            let fault = if state.goes_wrong(chances) {
                state.decisions.pick(&FAULTS, RequestFault::Lost)
            } else {
                RequestFault::None
            };
            if fault != RequestFault::None {
                state.log(&format!("{method} {path}: {fault:?}"));
            }
            (fault, state.decisions.delay(1..3_000), state.decisions.delay(1..3_000))
        };
        match fault {
            RequestFault::NotSent => return Err(NoResponse { maybe_sent: false }),
            RequestFault::Lost => {
                sleep(there).await;
                return Err(NoResponse { maybe_sent: true });
            }
            _ => sleep(there).await,
        }
        let (status, response) = {
            let mut state = self.0.state.lock();
            let response = state.mint.handle(method, path, body);
            if response.0 != 200 {
                state.log(&format!("{method} {path}: {}", response.1));
            }
            response
        };
        self.0.instant("after the mint has done it").await;
        sleep(back).await;
        match fault {
            RequestFault::ResponseLost => Err(NoResponse { maybe_sent: true }),
            RequestFault::Hangs => {
                sleep(Duration::from_secs(100_000)).await;
                Err(NoResponse { maybe_sent: true })
            }
            RequestFault::Fails => Ok((500, b"{}".to_vec())),
            RequestFault::Garbage => Ok((200, b"<html>".to_vec())),
            RequestFault::None | RequestFault::NotSent | RequestFault::Lost => {
                Ok((status, response.to_string().into_bytes()))
            }
        }
    }
}

pub(super) struct Disk(pub(super) Arc<World>);

impl Interceptor for Disk {
    async fn around<T: Send>(&self, call: StoreCall, run: Run<'_, T>) -> Result<T, StoreError> {
        match call.method {
            "set_setting" => {
                self.0.instant("before a setting is stored").await;
                wait(run)
            }
            "commit_tickets" => {
                self.0.instant("before a transaction").await;
                let (takes, fails) = {
                    let mut state = self.0.state.lock();
                    (state.decisions.delay(1..500), state.goes_wrong(2))
                };
                sleep(takes).await;
                if fails {
                    return Err(StoreError::Failed("disk full".into()));
                }
                let committed = wait(run)?;
                self.0.instant("after a transaction, before anybody knows of it").await;
                sleep(Duration::from_millis(1)).await;
                Ok(committed)
            }
            _ => wait(run),
        }
    }
}
