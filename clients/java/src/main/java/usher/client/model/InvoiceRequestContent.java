// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * What the invoice is for.
 *
 * @param amount Millisats, at most {@code limits.max_amount_millisats}.
 * @param currency {@code millisats}, in either case.
 * @param description At most 639 bytes of UTF-8.
 * @param expiresAt Unix seconds until which the user can respond: at most 24 hours ahead, by default five minutes.
 * @param requestId Your own reference, repeated in the events.
 */
public record InvoiceRequestContent(
        long amount,
        String currency,
        @Nullable String description,
        @Nullable Long expiresAt,
        @Nullable String requestId) {
    /**
     * Creates it from what is required.
     *
     * @param amount Millisats, at most {@code limits.max_amount_millisats}.
     * @return a new {@code InvoiceRequestContent}
     */
    public static InvoiceRequestContent of(long amount) {
        return new InvoiceRequestContent(amount, "millisats", null, null, null);
    }

    /**
     * Returns a copy with another {@code description}.
     *
     * @param description At most 639 bytes of UTF-8.
     * @return the copy
     */
    public InvoiceRequestContent withDescription(@Nullable String description) {
        return new InvoiceRequestContent(amount, currency, description, expiresAt, requestId);
    }

    /**
     * Returns a copy with another {@code expiresAt}.
     *
     * @param expiresAt Unix seconds until which the user can respond: at most 24 hours ahead, by default five minutes.
     * @return the copy
     */
    public InvoiceRequestContent withExpiresAt(@Nullable Long expiresAt) {
        return new InvoiceRequestContent(amount, currency, description, expiresAt, requestId);
    }

    /**
     * Returns a copy with another {@code requestId}.
     *
     * @param requestId Your own reference, repeated in the events.
     * @return the copy
     */
    public InvoiceRequestContent withRequestId(@Nullable String requestId) {
        return new InvoiceRequestContent(amount, currency, description, expiresAt, requestId);
    }
}
