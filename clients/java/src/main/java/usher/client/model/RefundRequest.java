// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Pays a payment back.
 *
 * @param amount Millisats. By default all that was paid and is not refunded yet.
 * @param expiresAt Unix seconds until which the payer can name an invoice: at most 30 days ahead, by default seven
 *     days.
 * @param requestId Your own reference, repeated in the events.
 */
public record RefundRequest(@Nullable Long amount, @Nullable Long expiresAt, @Nullable String requestId) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code RefundRequest}
     */
    public static RefundRequest of() {
        return new RefundRequest(null, null, null);
    }

    /**
     * Returns a copy with another {@code amount}.
     *
     * @param amount Millisats. By default all that was paid and is not refunded yet.
     * @return the copy
     */
    public RefundRequest withAmount(@Nullable Long amount) {
        return new RefundRequest(amount, expiresAt, requestId);
    }

    /**
     * Returns a copy with another {@code expiresAt}.
     *
     * @param expiresAt Unix seconds until which the payer can name an invoice: at most 30 days ahead, by default seven
     *     days.
     * @return the copy
     */
    public RefundRequest withExpiresAt(@Nullable Long expiresAt) {
        return new RefundRequest(amount, expiresAt, requestId);
    }

    /**
     * Returns a copy with another {@code requestId}.
     *
     * @param requestId Your own reference, repeated in the events.
     * @return the copy
     */
    public RefundRequest withRequestId(@Nullable String requestId) {
        return new RefundRequest(amount, expiresAt, requestId);
    }
}
