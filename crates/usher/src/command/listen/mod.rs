//! `usher listen`: shows events as they happen and posts them to a local address, as the webhook would.

mod feed;
mod forwarding;
mod options;
mod output;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;

use self::feed::{Connection, FeedMessage, Refusal, Shown};
use self::forwarding::forward;
use self::options::ListenOptions;
use self::output::EventOutput;
use super::environment::source;
use crate::cli::ListenCommand;
use crate::failure::Failure;
use crate::output::tell;
use crate::signals::Signals;

/// Events queued for the local address. When the queue is full, reading stops, and the service reports missed events.
const WAITING: usize = 1000;

/// Pause before reconnecting to the service.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Runs until a signal, or until standard output is closed.
///
/// # Errors
/// When the options or the configuration cannot be used, or the service refuses.
pub fn run(command: &ListenCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let source = source(data_dir)?;
    let options = ListenOptions::of(command, &source)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match runtime.block_on(listen(&options, EventOutput::new(command.json))) {
        // The reader of a pipe such as `usher listen | head -1` has ended.
        Err(Failure::Other(error)) if is_broken_pipe(&*error) => Ok(()),
        outcome => outcome,
    }
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

async fn listen(options: &ListenOptions, output: EventOutput) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    let (to_forward, queue) = mpsc::channel(WAITING);
    if let Some(forwarding) = &options.forwarding {
        tell(&format!("usher: forwarding to {}", forwarding.origin));
        if let Some(generated) = &forwarding.generated_secret {
            tell(&format!("usher: signing with {generated} (generated for this run; --secret sets one)"));
        }
    }
    tokio::select! {
        outcome = watch(options, output, to_forward) => outcome,
        outcome = forward(options.forwarding.as_ref(), output, queue) => outcome,
        _ = signals.next() => Ok(()),
    }
}

/// Shows events while the service is reachable, and reconnects otherwise.
async fn watch(options: &ListenOptions, output: EventOutput, to_forward: mpsc::Sender<Shown>) -> Result<(), Failure> {
    let mut told = None;
    loop {
        match Connection::open(&options.service).await {
            Ok(mut connection) => {
                tell(&format!("usher: listening to {}", connection.origin));
                told = None;
                follow(options, output, &mut connection, &to_forward).await?;
                tell("usher: connection to the service lost; events until it is back are not shown");
            }
            Err(Refusal::Final(why)) => return Err(Failure::said(why)),
            Err(Refusal::NotThere(why)) => {
                if told.as_ref() != Some(&why) {
                    tell(&format!("usher: {why}; waiting for it"));
                    told = Some(why);
                }
            }
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Shows events until the connection ends.
async fn follow(
    options: &ListenOptions,
    output: EventOutput,
    connection: &mut Connection,
    to_forward: &mpsc::Sender<Shown>,
) -> Result<(), Failure> {
    while let Some(message) = connection.next().await {
        match message {
            FeedMessage::Event(shown) => {
                if !options.wants(&shown.stream) {
                    continue;
                }
                output.event(&shown)?;
                if options.forwarding.is_some() {
                    // Fails only when forwarding has ended, which ends everything.
                    let _ = to_forward.send(shown).await;
                }
            }
            FeedMessage::Missed(count) => tell(&format!("usher: skipped {count} events that arrived too fast")),
            FeedMessage::Unreadable => tell("usher: cannot read an event; is the service another version?"),
        }
    }
    Ok(())
}
