// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Opens an age verification session. Every field is optional, and so is the body.
 *
 * @param returnUrl Where the page leads the user's browser at the end, with {@code stream_id} in the query. It must be
 *     under one of {@code pages.return_urls}. Who has passed goes there at once, others by a button.
 */
public record VerificationSessionRequest(@Nullable String returnUrl) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code VerificationSessionRequest}
     */
    public static VerificationSessionRequest of() {
        return new VerificationSessionRequest(null);
    }

    /**
     * Returns a copy with another {@code returnUrl}.
     *
     * @param returnUrl Where the page leads the user's browser at the end, with {@code stream_id} in the query. It
     *     must be under one of {@code pages.return_urls}. Who has passed goes there at once, others by a button.
     * @return the copy
     */
    public VerificationSessionRequest withReturnUrl(@Nullable String returnUrl) {
        return new VerificationSessionRequest(returnUrl);
    }
}
