//! Shell variables and functions for a running `usher dev`. While it runs, its folder has them in a file, which `usher
//! dev env` prints.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use secrecy::ExposeSecret as _;
use usher::config::load;
use usher::failure::Failure;
use usher::local_instance::LocalInstance;
use usher::output::{shell_word, write};

use super::setup::Setup;

const FILE: &str = "env.sh";

/// The variables and functions.
pub(super) fn shell_environment(setup: &Setup<'_>) -> String {
    let mint = setup.mint.map_or_else(String::new, |mint| {
        format!("export MINT={}\nexport MINT_TOKEN={}\n", mint.url(), mint.token().expose_secret())
    });
    let programs = std::env::current_exe().ok().and_then(|path| path.parent().map(shell_word)).unwrap_or_default();
    format!(
        "\
export BASE={base}
export TOKEN={token}
export USER_KEY={user}
export USHER_WALLET={wallet}
{mint}export PATH={programs}:$PATH
call() {{ curl -sS --fail-with-body -w '\\n' -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' \"$@\"; }}
field() {{ sed \"s/.*\\\"$1\\\":\\\"\\([^\\\"]*\\)\\\".*/\\1/\"; }}
events() {{ until call \"$BASE/events/$1?after=0&wait=5\" | grep '\"done\":true'; do sleep 0.2; done; }}
wallet() {{ usher wallet \"$@\"; }}
",
        base = setup.base(),
        token = setup.token.expose_secret(),
        user = setup.user.to_hex(),
        wallet = shell_word(setup.wallet_file),
    )
}

/// The file; dropping this removes it.
pub(super) struct EnvironmentFile(PathBuf);

impl EnvironmentFile {
    /// Writes it, readable only by its owner.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn create(setup: &Setup<'_>) -> Result<Self, Failure> {
        let (folder, path) = (setup.folder.path(), setup.folder.path().join(FILE));
        let mut file = tempfile::Builder::new().prefix(".env-").tempfile_in(folder)?;
        file.write_all(shell_environment(setup).as_bytes())?;
        file.persist(&path).map_err(|refused| refused.error)?;
        Ok(Self(path))
    }
}

impl Drop for EnvironmentFile {
    fn drop(&mut self) {
        // A leftover names an instance that does not respond.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Prints the file of the instance on this folder.
///
/// # Errors
/// When none runs there.
pub(super) fn print(folder: Option<&Path>) -> Result<(), Failure> {
    let Some(folder) = folder else {
        return Err(Failure::usage("name the folder of the running instance: usher --data-dir <folder> dev env"));
    };
    let environment = std::fs::read_to_string(folder.join(FILE)).unwrap_or_default();
    let config = load(&super::data_dir::source(&std::path::absolute(folder)?, &[])).config;
    let instance = config.map(|config| LocalInstance::of(&config, folder));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let is_running = match instance {
        Some(instance) if !environment.is_empty() => runtime.block_on(instance.connect()).is_ok(),
        _ => false,
    };
    if !is_running {
        let folder = folder.display();
        return Err(Failure::said(format!(
            "no `usher dev` runs on {folder}: start it with `usher --data-dir {folder} dev`"
        )));
    }
    Ok(write(&environment)?)
}
