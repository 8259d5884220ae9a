//! What `usher dev` shows first: what to try, then where everything is and the next command, so that these stay on screen.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use secrecy::{ExposeSecret as _, SecretString};
use usher_engine::KeyHandshakeStarted;
use usher_protocol::PublicKey;

use super::folder::Folder;

/// What there is to show.
pub(super) struct Banner<'a> {
    /// Where the service listens.
    pub(super) service: SocketAddr,
    /// Its token. It is shown: it is made for this, and opens nothing else.
    pub(super) token: &'a SecretString,
    /// The relay's address.
    pub(super) relay: &'a str,
    /// A reusable handshake.
    pub(super) handshake: &'a KeyHandshakeStarted,
    /// The main key of the built-in wallet's user.
    pub(super) user: PublicKey,
    /// The file of the built-in wallet.
    pub(super) wallet_file: &'a Path,
    /// Where everything is kept.
    pub(super) folder: &'a Folder,
    /// The wallet approves by itself.
    pub(super) auto_approve: bool,
}

impl fmt::Display for Banner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = format!("http://{}", self.service);
        let token = self.token.expose_secret();
        let kept = if self.folder.is_temporary() { "removed at exit; keep it with --data-dir" } else { "kept" };
        let user = self.user.to_hex();

        let stream = self.handshake.stream_id;
        writeln!(f, "\nUsher is running, with a relay, a user's wallet and Lightning. In another terminal you can:\n")?;
        writeln!(f, "1. Read who logged in, after  scan  here:\n")?;
        writeln!(f, "curl -sS -w '\\n' -H 'Authorization: Bearer {token}' '{base}/events/{stream}?after=0&wait=30'\n")?;
        writeln!(f, "2. Ask the user to prove that the key is theirs, and wait for the reply:\n")?;
        writeln!(
            f,
            "STREAM=$(curl -sS -X POST -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' \
             -d '{{\"main_key\":\"{user}\",\"subkeys\":[]}}' '{base}/authenticate-key' \
             | sed 's/.*\"stream_id\":\"\\([^\"]*\\)\".*/\\1/')"
        )?;
        writeln!(
            f,
            "curl -sS -w '\\n' -H 'Authorization: Bearer {token}' \"{base}/events/$STREAM?after=0&wait=30\"\n"
        )?;
        if self.auto_approve {
            writeln!(f, "3. The wallet approves by itself (--auto-approve).\n")?;
        } else {
            writeln!(f, "3. Reply as the user: type  approve  here, or run:\n")?;
            writeln!(f, "{} wallet --wallet {} approve\n", program(), quoted(self.wallet_file))?;
        }
        writeln!(f, "4. Start a handshake of your own, and open its URL with  scan <url>  here:\n")?;
        writeln!(
            f,
            "curl -sS -w '\\n' -X POST -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' -d '{{}}' \
             '{base}/key-handshake'\n"
        )?;
        writeln!(f, "5. Request a payment, and approve it as above; its stream reports when it is paid:\n")?;
        writeln!(
            f,
            "curl -sS -w '\\n' -X POST -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' \
             -d '{{\"main_key\":\"{user}\",\"subkeys\":[],\"description\":\"Tea\",\"amount\":10000,\"currency\":\"millisats\"}}' \
             '{base}/payments/single'\n"
        )?;
        writeln!(f, "6. See all events as they happen:\n")?;
        writeln!(f, "{} --data-dir {} listen --base {base}\n", program(), quoted(self.folder.path()))?;
        writeln!(f, "  data       {} ({kept})", self.folder.path().display())?;
        writeln!(f, "  relay      {} (this machine only: a phone cannot reach it)", self.relay)?;
        writeln!(f, "  user       {user}")?;
        writeln!(f, "  reference  {base}/docs (open it in a browser)")?;
        writeln!(f, "  base URL   {base}")?;
        writeln!(f, "  token      {token}")?;
        writeln!(f, "\nThe URL that a user opens to log in (reusable):\n\n  {}\n", self.handshake.url)?;
        writeln!(f, "Type  help  for all commands of the wallet,  quit  to stop. Log the user in now with:  scan")
    }
}

/// How this program is called.
fn program() -> String {
    std::env::current_exe().map_or_else(|_| "usher".to_owned(), |path| quoted(&path))
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte));
    if plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
