// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The kind of handshake URL. Every field is optional, and so is the body.
 *
 * @param noRequest Handshake only: tells the wallet that no authentication challenge follows.
 * @param returnUrl Where the page leads the user's browser at the end, with {@code stream_id} in the query. It must be
 *     under one of {@code pages.return_urls}. Not with {@code static_token}, whose page never ends.
 * @param staticToken Makes the URL reusable: every user who opens it is an event on the same stream, and the same
 *     token always has the same stream and URL. Anybody who knows the token can make the URL: choose it like a name on
 *     a poster, or at random if only those who see the code may use it.
 */
public record KeyHandshakeRequest(
        @Nullable Boolean noRequest,
        @Nullable String returnUrl,
        @Nullable String staticToken) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code KeyHandshakeRequest}
     */
    public static KeyHandshakeRequest of() {
        return new KeyHandshakeRequest(null, null, null);
    }

    /**
     * Returns a copy with another {@code noRequest}.
     *
     * @param noRequest Handshake only: tells the wallet that no authentication challenge follows.
     * @return the copy
     */
    public KeyHandshakeRequest withNoRequest(@Nullable Boolean noRequest) {
        return new KeyHandshakeRequest(noRequest, returnUrl, staticToken);
    }

    /**
     * Returns a copy with another {@code returnUrl}.
     *
     * @param returnUrl Where the page leads the user's browser at the end, with {@code stream_id} in the query. It
     *     must be under one of {@code pages.return_urls}. Not with {@code static_token}, whose page never ends.
     * @return the copy
     */
    public KeyHandshakeRequest withReturnUrl(@Nullable String returnUrl) {
        return new KeyHandshakeRequest(noRequest, returnUrl, staticToken);
    }

    /**
     * Returns a copy with another {@code staticToken}.
     *
     * @param staticToken Makes the URL reusable: every user who opens it is an event on the same stream, and the same
     *     token always has the same stream and URL. Anybody who knows the token can make the URL: choose it like a
     *     name on a poster, or at random if only those who see the code may use it.
     * @return the copy
     */
    public KeyHandshakeRequest withStaticToken(@Nullable String staticToken) {
        return new KeyHandshakeRequest(noRequest, returnUrl, staticToken);
    }

    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "KeyHandshakeRequest[noRequest=" + noRequest
                + ", returnUrl=" + returnUrl
                + ", staticToken=…"
                + "]";
    }
}
