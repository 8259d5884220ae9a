//! `usher lightning abandon`: gives up the channels of a node whose data are lost.

use crate::config::{Config, Source};
use crate::failure::Failure;

#[cfg(feature = "embedded-lightning")]
pub(super) async fn run(config: &Config, source: &Source, yes: bool) -> Result<(), Failure> {
    let store = crate::service::open_store(config, &source.data_dir)?;
    let outcome = give_up(&*store, &source.data_dir.join("lightning"), yes).await;
    store.close().await;
    outcome
}

#[cfg(feature = "embedded-lightning")]
async fn give_up(
    settings: &dyn usher_engine::ports::SettingStore,
    folder: &std::path::Path,
    yes: bool,
) -> Result<(), Failure> {
    use usher_embedded_lightning::DataState;

    use crate::output::tell;

    match usher_embedded_lightning::data_state(folder, settings).await? {
        DataState::None => {
            tell("usher: this service had no Lightning node, or its channels were given up already");
            Ok(())
        }
        DataState::Present => Err(Failure::said(format!(
            "{} has data. If they are an old copy, move the folder away first; if they are the newest, nothing is lost and the \
             service starts with them",
            folder.display()
        ))),
        DataState::Lost => {
            tell(
                "usher: gives up the channels of the lost data: the node starts anew with the same mnemonic, finds its on-chain \
                 balance, but not the money in channels (docs/lightning.md, Back up)",
            );
            super::confirm(yes)?;
            Ok(usher_embedded_lightning::give_up(settings).await?)
        }
    }
}

#[cfg(not(feature = "embedded-lightning"))]
#[expect(clippy::unused_async, reason = "the same as with the feature")]
pub(super) async fn run(_config: &Config, _source: &Source, _yes: bool) -> Result<(), Failure> {
    Err(Failure::said("this program was built without the Cargo feature embedded-lightning"))
}
