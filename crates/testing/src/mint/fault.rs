//! The faults of requests to a mint.

use std::time::Duration;

use super::FalseResponse;

/// What goes wrong with a request.
///
/// *Not acted on* means that the honest mint never sees the request; *acted on* means that it does, whatever the client
/// learns of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Refused with this status and a body `{code, detail}`. Not acted on.
    Refuse {
        status: u16,
        /// The code (NUT error codes).
        code: u32,
        detail: String,
    },
    /// Refused as in [`Refuse`](Self::Refuse), but acted on.
    ActAndRefuse {
        status: u16,
        /// The code (NUT error codes).
        code: u32,
        detail: String,
    },
    /// The connection stays open and nothing comes. Not acted on.
    Hang,
    /// The connection stays open and nothing comes. Acted on.
    ActAndHang,
    /// The connection is closed without a response. Not acted on.
    Drop,
    /// The connection is closed without a response. Acted on.
    ActAndDrop,
    /// The connection is closed in the middle of the response. Acted on.
    ActAndCut,
    /// The response comes this much later. Acted on at once.
    Delay(Duration),
    /// Acted on this much later, and answered then: the client may have given up.
    ActLate(Duration),
    /// Status 200 with a body that is nothing. Acted on.
    Garbage(Garbage),
    /// The honest response, changed. Acted on.
    False(FalseResponse),
    /// A redirect to this address. Not acted on.
    Redirect(String),
}

/// A body that a mint should not send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Garbage {
    Empty,
    Html,
    /// Bytes that are no UTF-8.
    Bytes,
    /// The honest body without its second half, with a length that fits.
    Half,
    EmptyObject,
    /// JSON arrays in arrays, this deep.
    Nested(usize),
    /// Valid JSON of about so many bytes.
    Huge(usize),
    /// JSON that never ends: it comes as fast as it is read.
    Endless,
}
