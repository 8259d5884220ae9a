//! Who the service is for.

/// The purpose of a service.
#[derive(Clone, Copy, Debug)]
pub enum Mode {
    /// Production: `usher serve`.
    Live,
    /// Trying things out: `usher dev`. The pages show this; OpenID Connect clients may redirect to any address of this
    /// machine, where the API's documentation needs no token.
    Test {
        /// The service's picture, unless its profile has one.
        picture: Option<&'static [u8]>,
    },
}
