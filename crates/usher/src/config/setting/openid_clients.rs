//! The apps that log users in with OpenID Connect.

use serde_json::{Map, Value};
use usher_openid_provider::{Algorithm, Client, ClientError, ClientSecret};

use super::{RawValue, SET, Setting, read_each, tables, unfit};

const MAX_ENTRIES: usize = 100;

const KEYS: [&str; 8] = [
    "id",
    "secret",
    "public",
    "name",
    "redirect_uris",
    "post_logout_redirect_uris",
    "require_pkce",
    "signing_algorithm",
];

/// Clients with different ids, at least one.
#[derive(Clone, Debug)]
pub struct OpenIdClients(Vec<Client>);

impl OpenIdClients {
    /// The clients.
    pub fn clients(&self) -> &[Client] {
        &self.0
    }
}

impl Setting for OpenIdClients {
    fn expected() -> String {
        format!("a list of 1 to {MAX_ENTRIES} clients (docs/oidc.md); in a variable or a file of its own, as JSON")
    }

    const EXAMPLE: &'static str = "[{ id = \"gitea\", secret = \"at-least-32-random-characters-here\", name = \"Gitea\", \
                                   redirect_uris = [\"https://git.example.com/user/oauth2/usher/callback\"], \
                                   require_pkce = false }]";
    const SECRET: bool = true;

    fn read(given: &RawValue) -> Result<Self, String> {
        let entries = tables::<Self>(given)?;
        if entries.is_empty() || entries.len() > MAX_ENTRIES {
            return Err(unfit::<Self>());
        }
        read_each(&entries, client, |one, other| one.id == other.id, "another entry has the same `id`").map(Self)
    }

    fn show(&self) -> String {
        SET.to_owned()
    }
}

fn client(entry: &Value) -> Result<Client, String> {
    let entry = entry.as_object().ok_or("it must be a table")?;
    if let Some(unknown) = entry.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let near = super::super::suggestion::nearest(unknown, KEYS.into_iter(), ".");
        return Err(match near {
            Some(near) => format!("it has an unknown key; did you mean `{near}`?"),
            None => format!("it has an unknown key; known are {}", KEYS.join(", ")),
        });
    }
    let secret = text(entry, "secret")?.map(|secret| ClientSecret::new(&secret)).transpose();
    let secret = secret.map_err(|error: ClientError| error.to_string())?;
    let client = Client {
        id: text(entry, "id")?.unwrap_or_default(),
        name: text(entry, "name")?.unwrap_or_default(),
        redirect_uris: texts(entry, "redirect_uris")?,
        post_logout_redirect_uris: texts(entry, "post_logout_redirect_uris")?,
        require_pkce: flag(entry, "require_pkce")?.unwrap_or(true),
        algorithm: match text(entry, "signing_algorithm")?.as_deref() {
            None | Some("RS256") => Algorithm::Rs256,
            Some("ES256") => Algorithm::Es256,
            Some(_) => return Err("`signing_algorithm` must be \"RS256\" or \"ES256\"".to_owned()),
        },
        secret,
    };
    match (flag(entry, "public")?.unwrap_or(false), &client.secret) {
        (true, Some(_)) => return Err("a public client has no `secret`".to_owned()),
        (false, None) => return Err("it needs a `secret`, or `public = true`".to_owned()),
        (true, None) if !client.require_pkce => return Err("a public client cannot do without PKCE".to_owned()),
        _ => {}
    }
    client.check().map_err(|error| error.to_string())?;
    Ok(client)
}

fn text(entry: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match entry.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` must be text")),
    }
}

fn texts(entry: &Map<String, Value>, key: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{key}` must be a list of texts");
    match entry.get(key) {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

fn flag(entry: &Map<String, Value>, key: &str) -> Result<Option<bool>, String> {
    match entry.get(key) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(format!("`{key}` must be true or false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::toml_value::default_value;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn entry(more: &str) -> String {
        format!("{{ id = \"a\", name = \"A\", redirect_uris = [\"https://a.example/\"]{more} }}")
    }

    fn read(entries: &str) -> Result<OpenIdClients, String> {
        OpenIdClients::read(&default_value(&format!("[{entries}]")))
    }

    #[test]
    fn tables_and_json_are_read_alike() {
        let table = read(&entry(&format!(", secret = \"{SECRET}\", require_pkce = false"))).unwrap();
        let json = format!(
            "[{{\"id\":\"a\",\"name\":\"A\",\"redirect_uris\":[\"https://a.example/\"],\"secret\":\"{SECRET}\",\
             \"require_pkce\":false}}]"
        );
        let json = OpenIdClients::read(&RawValue::Text(json)).unwrap();
        assert_eq!(format!("{table:?}"), format!("{json:?}"));
        assert!(!table.clients()[0].require_pkce);
        assert!(!format!("{table:?}").contains(SECRET));
        assert!(OpenIdClients::read(&default_value(OpenIdClients::EXAMPLE)).is_ok());
        let public = read(&entry(", public = true, signing_algorithm = \"ES256\"")).unwrap();
        assert_eq!(public.clients()[0].algorithm, Algorithm::Es256);
    }

    #[test]
    fn errors_name_the_entry_and_no_value() {
        let secret = format!(", secret = \"{SECRET}\"");
        let good = entry(&secret);
        for (entries, problem) in [
            (String::new(), "must be a list of 1 to 100 clients"),
            (entry(""), "entry 1: it needs a `secret`, or `public = true`"),
            (entry(&format!("{secret}, public = true")), "a public client has no `secret`"),
            (entry(", public = true, require_pkce = false"), "a public client cannot do without PKCE"),
            (entry(", secret = \"hunter2\""), "`secret` must be 32 to 128 characters"),
            (entry(&format!("{secret}, redirect_url = \"x\"")), "did you mean `redirect_uris`?"),
            (entry(&format!("{secret}, require_pkce = \"no\"")), "`require_pkce` must be true or false"),
            (entry(&format!("{secret}, signing_algorithm = \"none\"")), "`signing_algorithm` must be"),
            (format!("{good}, {good}"), "entry 2: another entry has the same `id`"),
            (good.replace("https:", "http:"), "each redirect URI must be"),
            (good.replace("[\"https://a.example/\"]", "\"https://a.example/\""), "must be a list of texts"),
        ] {
            let error = read(&entries).unwrap_err();
            assert!(error.contains(problem), "{entries}: {error}");
            assert!(!error.contains(SECRET) && !error.contains("hunter2"), "{error}");
        }
    }
}
