// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * What the invoice is for.
 *
 * @param amount In millisats, or in the minor unit of {@code currency}, such as cents. It may come to at most {@code
 *     limits.max_amount_millisats}.
 * @param currency {@code millisats}, or the code of a currency (ISO 4217) that {@code rates.currencies} lists; in
 *     either case. What {@code amount} comes to in millisats is fixed now, and rounded up to a whole sat: the invoice
 *     must be for that.
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
     * @param amount In millisats, or in the minor unit of {@code currency}, such as cents. It may come to at most
     *     {@code limits.max_amount_millisats}.
     * @return a new {@code InvoiceRequestContent}
     */
    public static InvoiceRequestContent of(long amount) {
        return new InvoiceRequestContent(amount, "millisats", null, null, null);
    }

    /**
     * Returns a copy with another {@code currency}.
     *
     * @param currency {@code millisats}, or the code of a currency (ISO 4217) that {@code rates.currencies} lists; in
     *     either case. What {@code amount} comes to in millisats is fixed now, and rounded up to a whole sat: the
     *     invoice must be for that.
     * @return the copy
     */
    public InvoiceRequestContent withCurrency(String currency) {
        return new InvoiceRequestContent(amount, currency, description, expiresAt, requestId);
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
