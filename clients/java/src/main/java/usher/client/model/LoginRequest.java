// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Starts a login. Every field is optional, and so is the body.
 *
 * @param returnUrl Where the login page leads the user's browser at the end, with {@code stream_id} in the query, and
 *     with the {@code code} that you redeem ({@code POST /login/{stream_id}/redeem}). It must be under one of {@code
 *     pages.return_urls}, and have no fragment and no {@code stream_id} or {@code code} in its query.
 * @param staticToken Makes the login reusable, for a poster, a table or a door: {@code url} and {@code page_url} are
 *     for any number of users, the same token always has the same stream and URLs, and the stream never ends. Anybody
 *     who knows the token can make {@code url}: choose it like a name on a poster, or at random if only those who see
 *     the code may use it.
 */
public record LoginRequest(@Nullable String returnUrl, @Nullable String staticToken) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code LoginRequest}
     */
    public static LoginRequest of() {
        return new LoginRequest(null, null);
    }

    /**
     * Returns a copy with another {@code returnUrl}.
     *
     * @param returnUrl Where the login page leads the user's browser at the end, with {@code stream_id} in the query,
     *     and with the {@code code} that you redeem ({@code POST /login/{stream_id}/redeem}). It must be under one of
     *     {@code pages.return_urls}, and have no fragment and no {@code stream_id} or {@code code} in its query.
     * @return the copy
     */
    public LoginRequest withReturnUrl(@Nullable String returnUrl) {
        return new LoginRequest(returnUrl, staticToken);
    }

    /**
     * Returns a copy with another {@code staticToken}.
     *
     * @param staticToken Makes the login reusable, for a poster, a table or a door: {@code url} and {@code page_url}
     *     are for any number of users, the same token always has the same stream and URLs, and the stream never ends.
     *     Anybody who knows the token can make {@code url}: choose it like a name on a poster, or at random if only
     *     those who see the code may use it.
     * @return the copy
     */
    public LoginRequest withStaticToken(@Nullable String staticToken) {
        return new LoginRequest(returnUrl, staticToken);
    }

    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "LoginRequest[returnUrl=" + returnUrl
                + ", staticToken=…"
                + "]";
    }
}
