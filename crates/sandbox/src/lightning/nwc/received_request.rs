use std::sync::Arc;

use usher_protocol::EventId;
use usher_protocol::nwc::Scheme;

use super::Method;
use super::wire::{Call, Refusal, Response};

#[derive(Clone, Debug)]
pub struct NwcRequest {
    pub(super) id: EventId,
    pub(super) scheme: Scheme,
    pub(super) method: Option<Method>,
    pub(super) call: Arc<Call>,
    /// Unix seconds from which it must not be executed.
    pub(super) expires_at: Option<u64>,
}

impl NwcRequest {
    /// The method; `None` for an unknown one.
    pub const fn method(&self) -> Option<Method> {
        self.method
    }

    /// The method's parameters, or a refusal with the reason.
    pub fn params<T: serde::de::DeserializeOwned>(&self) -> Result<T, Refusal> {
        self.call.params()
    }

    pub(super) fn text_of(&self, response: &Response) -> String {
        response.text(&self.call.method)
    }
}
