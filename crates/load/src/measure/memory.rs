//! Memory and disk per open operation.

use std::time::Duration;

use anyhow::Result;

use crate::fixture::Tool;
use crate::open_streams::{Opened, open};
use crate::report::{Row, float, grouped};

/// How long the service may put itself in order before its memory is read.
const SETTLE: Duration = Duration::from_secs(3);

/// Measures what each open handshake and each open authentication takes.
pub(crate) async fn measure(tool: &Tool) -> Result<Vec<Row>> {
    let handshakes = of(tool, Opened::Handshakes, "open handshake").await?;
    let authentications = of(tool, Opened::Authentications, "open authentication").await?;
    Ok([handshakes, authentications].into_iter().flatten().collect())
}

/// The difference between all and a tenth of them open: what the service has before it knows anything does not count.
async fn of(tool: &Tool, what: Opened, name: &str) -> Result<[Row; 2]> {
    Tool::say(&format!("memory per {name}"));
    let (few, all) = (tool.options.operations / 10, tool.options.operations);
    let fixture = tool.fixture(Duration::ZERO).await?;
    open(&fixture, what, few).await?;
    tokio::time::sleep(SETTLE).await;
    let with_few = fixture.service.resident_bytes()?;
    open(&fixture, what, all - few).await?;
    tokio::time::sleep(SETTLE).await;
    let with_all = fixture.service.resident_bytes()?;
    let each = float(usize::try_from(with_all.saturating_sub(with_few))?) / float(all - few);
    let stored = fixture.stored_bytes().await?;
    let stored_each = float(usize::try_from(stored)?) / float(all);
    let memory = Row {
        what: format!("Memory per {name}"),
        under: format!("from {} to {} open", grouped(few), grouped(all)),
        result: format!("{each:.0} B (from {} to {} MiB in all)", with_few >> 20, with_all >> 20),
        aim: "1,000 B",
        ..Row::default()
    };
    let disk = Row {
        what: format!("Disk per {name}"),
        under: format!("{} open, with the write-ahead log", grouped(all)),
        result: format!("{stored_each:.0} B ({} MiB in all)", stored >> 20),
        ..Row::default()
    };
    Ok([memory, disk])
}
