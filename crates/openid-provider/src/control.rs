//! The operator's interface to the provider.

use async_trait::async_trait;
use usher_engine::ports::{
    NewOpenIdClient, OpenIdClient, OpenIdClientError, OpenIdClientFields, OpenIdConsent, OpenIdControl, OpenIdKey,
    OpenIdKeyError, StoreError,
};
use usher_protocol::PublicKey;

use crate::routes::OpenIdProvider;

#[async_trait]
impl OpenIdControl for OpenIdProvider {
    fn is_on(&self) -> bool {
        !self.0.clients.is_empty()
    }

    fn clients(&self) -> Vec<OpenIdClient> {
        self.0.clients.list()
    }

    async fn create_client(&self, new: NewOpenIdClient) -> Result<(OpenIdClient, Option<String>), OpenIdClientError> {
        self.0.create_client(new).await
    }

    async fn change_client(
        &self,
        client_id: &str,
        change: OpenIdClientFields,
        rotates_secret: bool,
    ) -> Result<(OpenIdClient, Option<String>), OpenIdClientError> {
        self.0.change_client(client_id, change, rotates_secret).await
    }

    async fn delete_client(&self, client_id: &str) -> Result<(), OpenIdClientError> {
        self.0.delete_client(client_id).await
    }

    async fn consents(&self, after: Option<(String, String)>, limit: usize) -> Result<Vec<OpenIdConsent>, StoreError> {
        self.0.store.openid_consents(after, limit).await
    }

    async fn revoke_consent(&self, client_id: &str, user: PublicKey) -> Result<bool, StoreError> {
        self.0.store.revoke_openid_consent(client_id, &user.to_hex()).await
    }

    fn keys(&self) -> Vec<OpenIdKey> {
        self.0.keys.list()
    }

    async fn rotate_keys(&self) -> Result<Vec<OpenIdKey>, OpenIdKeyError> {
        self.0.keys.rotate().await
    }

    async fn revoke_key(&self, kid: &str) -> Result<Option<Vec<OpenIdKey>>, OpenIdKeyError> {
        self.0.keys.revoke(kid).await
    }
}
