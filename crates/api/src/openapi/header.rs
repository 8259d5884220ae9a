//! A header of a response.

use utoipa::openapi::{Header, RefOr};

pub(super) fn header(description: &str) -> RefOr<Header> {
    let mut header = Header::default();
    header.description = Some(description.into());
    RefOr::T(header)
}
