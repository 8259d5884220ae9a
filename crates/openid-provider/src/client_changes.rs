//! Creating, changing and deleting stored clients.

use std::sync::Arc;

use usher_engine::FieldError;
use usher_engine::ports::{
    NewOpenIdClient, OfOpenIdClient, OpenIdClient, OpenIdClientError, OpenIdClientFields, StoreError,
};

use crate::client::{Client, ClientError, ClientSecret, check_redirect_uri};
use crate::clients::{MAX_STORED, SETTING, Stored, StoredClient};
use crate::keys::Algorithm;
use crate::provider::Provider;
use crate::secret::Secret;

impl Provider {
    pub(crate) async fn create_client(
        &self,
        new: NewOpenIdClient,
    ) -> Result<(OpenIdClient, Option<String>), OpenIdClientError> {
        let _one = self.clients.change.lock().await;
        let id = new.client_id.unwrap_or_else(|| hex::encode(self.new_grant_id()));
        if self.clients.get(&id).is_some() {
            return Err(refused("/client_id", "belongs to another client"));
        }
        let mut all = self.clients.stored.read().clone();
        if all.len() >= MAX_STORED {
            return Err(refused(
                "/client_id",
                format!("there may be at most {MAX_STORED} stored clients; delete one first"),
            ));
        }
        let secret = (!new.is_public).then(|| self.new_secret());
        let client = Client {
            id: id.clone(),
            secret: secret.as_ref().map(hashed).transpose()?,
            name: String::new(),
            redirect_uris: Vec::new(),
            post_logout_redirect_uris: Vec::new(),
            require_pkce: true,
            algorithm: Algorithm::default(),
        };
        let client = changed(client, new.fields)?;
        // Nobody has to wait for them at the first login.
        self.keys.ensure().await?;
        let stored = StoredClient { client: Arc::new(client), created_at: self.clock.now().0 };
        all.insert(id.clone(), stored.clone());
        // What an earlier client with this id has left is not for this one.
        self.put_clients(all, &id, OfOpenIdClient::Everything).await?;
        Ok((stored.shown(), secret.map(|secret| secret.expose().to_owned())))
    }

    pub(crate) async fn change_client(
        &self,
        id: &str,
        change: OpenIdClientFields,
        rotates_secret: bool,
    ) -> Result<(OpenIdClient, Option<String>), OpenIdClientError> {
        let _one = self.clients.change.lock().await;
        let (before, mut all) = self.clients.stored(id)?;
        if rotates_secret && before.client.secret.is_none() {
            return Err(refused("/rotate_secret", "is not for a public client, which has no secret"));
        }
        let secret = rotates_secret.then(|| self.new_secret());
        let mut client = changed((*before.client).clone(), change)?;
        if let Some(secret) = &secret {
            client.secret = Some(hashed(secret)?);
        }
        let moves = client.redirect_uris != before.client.redirect_uris;
        let stored = StoredClient { client: Arc::new(client), ..before };
        all.insert(id.to_owned(), stored.clone());
        self.put_clients(all, id, if moves { OfOpenIdClient::Requests } else { OfOpenIdClient::Nothing }).await?;
        Ok((stored.shown(), secret.map(|secret| secret.expose().to_owned())))
    }

    pub(crate) async fn delete_client(&self, id: &str) -> Result<(), OpenIdClientError> {
        let _one = self.clients.change.lock().await;
        let (_, mut all) = self.clients.stored(id)?;
        all.remove(id);
        self.put_clients(all, id, OfOpenIdClient::Everything).await?;
        Ok(())
    }

    async fn put_clients(&self, all: Stored, id: &str, removed: OfOpenIdClient) -> Result<(), StoreError> {
        let text = serde_json::to_string(&all).map_err(|_| StoreError::Unexpected("clients cannot be written"))?;
        self.store.set_openid_clients(SETTING, &text, id, removed).await?;
        *self.clients.stored.write() = all;
        Ok(())
    }
}

/// The client with these changes, if it is valid then.
fn changed(client: Client, change: OpenIdClientFields) -> Result<Client, OpenIdClientError> {
    let OpenIdClientFields { name, redirect_uris, post_logout_redirect_uris, require_pkce, algorithm } = change;
    let algorithm = algorithm.and_then(Algorithm::parse);
    let client = Client {
        name: name.unwrap_or(client.name),
        redirect_uris: redirect_uris.unwrap_or(client.redirect_uris),
        post_logout_redirect_uris: post_logout_redirect_uris.unwrap_or(client.post_logout_redirect_uris),
        require_pkce: require_pkce.unwrap_or(client.require_pkce),
        algorithm: algorithm.unwrap_or(client.algorithm),
        ..client
    };
    if !client.require_pkce && client.secret.is_none() {
        return Err(refused("/require_pkce", "must be true for a public client"));
    }
    let Err(error) = client.check() else { return Ok(client) };
    let pointer = match error {
        ClientError::Id => "/client_id",
        ClientError::Name => "/name",
        ClientError::RedirectUri if client.redirect_uris.iter().all(|uri| check_redirect_uri(uri).is_ok()) => {
            "/post_logout_redirect_uris"
        }
        ClientError::NoRedirectUri | ClientError::RedirectUri | ClientError::Secret => "/redirect_uris",
    };
    Err(refused(pointer, error.to_string()))
}

fn hashed(secret: &Secret) -> Result<ClientSecret, OpenIdClientError> {
    // Ours are valid.
    ClientSecret::new(secret.expose()).map_err(|error| refused("", error.to_string()))
}

fn refused(pointer: &str, detail: impl Into<String>) -> OpenIdClientError {
    OpenIdClientError::Refused(vec![FieldError { pointer: pointer.to_owned(), detail: detail.into() }])
}
