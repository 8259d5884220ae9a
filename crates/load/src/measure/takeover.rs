//! Time until a standby has taken over.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::time::{sleep, timeout};

use crate::api;
use crate::fixture::{Fixture, Tool};
use crate::http::Connection;
use crate::open_streams::{Opened, open};
use crate::report::{Row, grouped};
use crate::service::{Instance, Service};

/// No take-over takes longer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How long a call may take, and how often it is repeated.
const PATIENCE: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(5);

/// Measures the time from the end of the active instance until a standby acknowledges a new operation.
pub(crate) async fn measure(tool: &Tool) -> Result<Vec<Row>> {
    Tool::say("take-over");
    let count = tool.options.operations;
    let mut fixture = tool.fixture(Duration::ZERO).await?;
    open(&fixture, Opened::Handshakes, count / 2).await?;
    open(&fixture, Opened::Authentications, count - count / 2).await?;
    let row = |under: &str, time: Duration, aim| Row {
        what: "Take-over, until a call succeeds at the standby".to_owned(),
        under: format!("{under}, {} operations open", grouped(count)),
        result: format!("{:.2} s", time.as_secs_f64()),
        aim,
        ..Row::default()
    };
    let (instance, service) = standby(&mut fixture).await?;
    let begun = Instant::now();
    fixture.service.kill().await?;
    succeeds_at(&service, &instance).await?;
    let killed = begun.elapsed();

    (fixture.instance, fixture.service) = (instance, service);
    let (instance, service) = standby(&mut fixture).await?;
    let begun = Instant::now();
    let (stopped, taken_over) = tokio::join!(fixture.service.stop(), succeeds_at(&service, &instance));
    stopped?;
    taken_over?;
    Ok(vec![row("after SIGKILL, lease of 5 s", killed, "5 s"), row("after SIGTERM", begun.elapsed(), "")])
}

/// A standby that has begun to forward.
async fn standby(fixture: &mut Fixture) -> Result<(Instance, Service)> {
    let (instance, service) = fixture.instance.start_standby()?;
    succeeds_at(&service, &instance).await?;
    Ok((instance, service))
}

/// Waits until the instance acknowledges an operation.
async fn succeeds_at(service: &Service, instance: &Instance) -> Result<()> {
    let begun = Instant::now();
    loop {
        let call = async {
            let mut app = Connection::open(service.address()).await?;
            api::started(&app.call(&api::key_handshake(instance.token())).await?)
        };
        if let Ok(Ok(_)) = timeout(PATIENCE, call).await {
            return Ok(());
        }
        ensure!(begun.elapsed() < TIMEOUT, "no standby takes over:\n{}", instance.log_tail());
        sleep(INTERVAL).await;
    }
}
