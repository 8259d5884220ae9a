//! What `usher dev` shows first: where everything is, and what to try.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};
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
        let kept = if self.folder.is_temporary() { "removed at the end; keep it with --data-dir" } else { "kept" };
        let user = self.user.to_hex();

        writeln!(f, "\nUsher runs, with a relay, a user's wallet and Lightning beside it.\n")?;
        writeln!(f, "  base URL   {base}")?;
        writeln!(f, "  token      {token}")?;
        writeln!(f, "  reference  {base}/docs (a page for the browser)")?;
        writeln!(f, "  relay      {}", self.relay)?;
        writeln!(f, "  data       {} ({kept})", self.folder.path().display())?;
        writeln!(f, "  user       {user}")?;
        writeln!(f, "\nThe address a user opens to log in (this one is reusable):\n")?;
        writeln!(f, "  {}\n", self.handshake.url)?;
        if let Some(code) = qr_code(&self.handshake.url) {
            writeln!(f, "{code}")?;
        }
        writeln!(f, "The relay is on this machine only, so a phone cannot follow it, but the wallet here can.")?;
        writeln!(f, "\n1. Log the user in: type  scan  here, and read in another terminal who came:\n")?;
        let stream = self.handshake.stream_id;
        writeln!(f, "curl -sS -w '\\n' -H 'Authorization: Bearer {token}' '{base}/events/{stream}?after=0&wait=30'\n")?;
        writeln!(f, "2. Ask the user to prove that the key is theirs, and wait for the answer:\n")?;
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
            writeln!(f, "3. Answer as the user: type  approve  here, or in another terminal:\n")?;
            writeln!(f, "{} wallet --wallet {} approve\n", program(), quoted(self.wallet_file))?;
        }
        writeln!(f, "A handshake of your own, to open with  scan <url>  here:\n")?;
        writeln!(
            f,
            "curl -sS -w '\\n' -X POST -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' -d '{{}}' \
             '{base}/key-handshake'\n"
        )?;
        writeln!(
            f,
            "A payment (Lightning is on this machine only, too), to approve as above; its stream says when it is paid:\n"
        )?;
        writeln!(
            f,
            "curl -sS -w '\\n' -X POST -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' \
             -d '{{\"main_key\":\"{user}\",\"subkeys\":[],\"description\":\"Tea\",\"amount\":10000,\"currency\":\"millisats\"}}' \
             '{base}/payments/single'\n"
        )?;
        writeln!(f, "To see all events as they happen, in another terminal:\n")?;
        writeln!(f, "{} --data-dir {} listen --base {base}\n", program(), quoted(self.folder.path()))?;
        writeln!(f, "Type  help  for what else the wallet does,  quit  or Ctrl-C to end.")
    }
}

/// The address as a code to scan, in half blocks; `None` when it is too long for one.
fn qr_code(url: &str) -> Option<String> {
    let code = QrCode::with_error_correction_level(url, EcLevel::L).ok()?;
    // Blocks are the light modules: right on a dark terminal; on a light one the code is inverse, which current
    // scanners read, too.
    Some(code.render::<Dense1x2>().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build())
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
