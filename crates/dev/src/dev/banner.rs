//! The first text of `usher dev`. It fits a terminal of 24 rows of 80 columns, and ends with the next command.

use secrecy::ExposeSecret as _;

use super::setup::Setup;

/// The running service, its addresses, and the next command.
pub(super) fn banner(setup: &Setup<'_>) -> String {
    let base = setup.base();
    let stored = match (setup.folder.is_temporary(), setup.embedded) {
        (true, true) => "removed at exit",
        (true, false) => "removed at exit; keep it with --data-dir",
        (false, _) => "kept",
    };
    let with = if setup.embedded {
        "with a Lightning node, a Nostr relay and a user's wallet"
    } else {
        "with a Nostr relay, a user's wallet and Lightning accounts"
    };
    let reach = match setup.lan {
        None => "this machine only; a phone needs --lan",
        Some(_) => "everybody in this network can use it and the pages; the API is on this machine only",
    };
    let port = setup.service.port();
    let warning = if setup.container {
        format!(
            "\nWARNING: the start page shows the token to whoever reaches port {port}. Publish it for\n\
             this machine only, with  -p 127.0.0.1:{port}:{port}\n"
        )
    } else {
        String::new()
    };
    format!(
        "\
Usher is running, {with}.

  start page {start}
  console    {start}dev/console (logs in)

  data       {folder} ({stored})
  relay      {relay} ({reach})
  user       {user}
  wallet     {url}

  base URL   {base}
  token      {token}
{warning}
Open the start page in your browser, or type  help
",
        folder = setup.folder.path().display(),
        relay = setup.relay,
        user = setup.user.to_hex(),
        start = setup.start_page,
        url = setup.handshake.url,
        token = setup.token.expose_secret(),
    )
}
