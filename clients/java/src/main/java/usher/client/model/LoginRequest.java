// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Starts a login. Every field is optional, and so is the body.
 *
 * @param returnUrl Where the login page leads the user's browser at the end, with {@code stream_id} in the query. It
 *     must be under one of {@code pages.return_urls}.
 */
public record LoginRequest(@Nullable String returnUrl) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code LoginRequest}
     */
    public static LoginRequest of() {
        return new LoginRequest(null);
    }

    /**
     * Returns a copy with another {@code returnUrl}.
     *
     * @param returnUrl Where the login page leads the user's browser at the end, with {@code stream_id} in the query.
     *     It must be under one of {@code pages.return_urls}.
     * @return the copy
     */
    public LoginRequest withReturnUrl(@Nullable String returnUrl) {
        return new LoginRequest(returnUrl);
    }
}
