//! `usher lightning abandon` and `adopt`: decisions about the node's data that the service refuses.

use crate::config::{Config, Source};
use crate::failure::Failure;

#[derive(Clone, Copy)]
pub(super) enum Decision {
    /// The data are lost: give up their channels.
    Abandon,
    /// The data are the newest, although unknown to the service's database.
    Adopt,
}

#[cfg(feature = "embedded-lightning")]
pub(super) async fn run(decision: Decision, config: &Config, source: &Source, yes: bool) -> Result<(), Failure> {
    let folder = source.data_dir.join("lightning");
    let store: std::sync::Arc<dyn usher_store::Database> = crate::database::open_sqlite(config, &source.data_dir)?;
    let outcome = match decision {
        Decision::Abandon => abandon(&*store, &folder, yes).await,
        Decision::Adopt => match crate::lightning_backend::embedded_options(config, folder, &store) {
            Ok(options) => adopt(&*store, &options, yes).await,
            Err(error) => Err(error),
        },
    };
    store.close().await;
    outcome
}

#[cfg(feature = "embedded-lightning")]
async fn abandon(
    settings: &dyn usher_engine::ports::SettingStore,
    folder: &std::path::Path,
    yes: bool,
) -> Result<(), Failure> {
    use usher_embedded_lightning::DataState;

    use crate::confirmation::confirm;
    use crate::output::tell;

    match usher_embedded_lightning::data_state(folder, settings).await? {
        DataState::None => {
            tell("usher: this service had no Lightning node, or its channels were given up already");
            Ok(())
        }
        DataState::Present | DataState::Unknown => Err(Failure::said(format!(
            "{} has data. If the service refuses them as an old copy and there is no newer one, move the folder away first",
            folder.display()
        ))),
        DataState::Lost => {
            tell(
                "usher: gives up the channels of the lost data: the node starts anew with the same mnemonic, finds its on-chain \
                 balance (with a bitcoind only if wallet.embedded.recover is set), but not the money in channels \
                 (docs/lightning.md, Back up)",
            );
            confirm(yes)?;
            Ok(usher_embedded_lightning::give_up(settings).await?)
        }
    }
}

#[cfg(feature = "embedded-lightning")]
async fn adopt(
    settings: &dyn usher_engine::ports::SettingStore,
    options: &usher_embedded_lightning::Options,
    yes: bool,
) -> Result<(), Failure> {
    use usher_embedded_lightning::DataState;

    use crate::confirmation::confirm;
    use crate::output::tell;

    let folder = &options.folder;
    match usher_embedded_lightning::data_state(folder, settings).await? {
        DataState::Unknown => {
            tell(&format!(
                "usher: takes over the Lightning node in {}. If it is not the newest copy, or if another service still uses \
                 it, its channels' money can be lost",
                folder.display()
            ));
            confirm(yes)?;
            Ok(usher_embedded_lightning::adopt(options).await?)
        }
        DataState::Present => Err(Failure::said(
            "the service's database knows these data already. If it refuses them, they are an old copy, and this command does \
             not change that",
        )),
        DataState::None | DataState::Lost => Err(Failure::said(format!("{} has no data", folder.display()))),
    }
}

#[cfg(not(feature = "embedded-lightning"))]
#[expect(clippy::unused_async, reason = "the same as with the feature")]
pub(super) async fn run(_decision: Decision, _config: &Config, _source: &Source, _yes: bool) -> Result<(), Failure> {
    Err(Failure::said("this program was built without the Cargo feature embedded-lightning"))
}
