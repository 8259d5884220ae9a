// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A key with its new secret.
 *
 * @param key See the type.
 * @param secret The secret: send it as {@code Authorization: Bearer}. It is shown this once, and left out of a
 *     repeated response ({@code Idempotency-Key}).
 */
public record ApiKeyWithSecret(ApiKey key, @Nullable String secret) {
    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "ApiKeyWithSecret[key=" + key
                + ", secret=…"
                + "]";
    }
}
