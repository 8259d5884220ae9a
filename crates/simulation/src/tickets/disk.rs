//! The disk: the wallet's records, which take their time, fail at times, and outlive the process.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use usher_engine::ports::StoreError;
use usher_testing::ports::{Interceptor, Run, StoreCall};

use super::World;
use crate::ports::disk::wait;

/// The disk of one process.
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
