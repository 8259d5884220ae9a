// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Asks a user for a payment.
 *
 * @param mainKey Who pays: 64 hex characters.
 * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
 * @param description What the payment is for; the invoice contains it. At most 639 bytes of UTF-8 (BOLT 11).
 * @param amount Millisats, at most {@code limits.max_amount_millisats}.
 * @param currency {@code millisats}, in either case.
 * @param expiresAt Unix seconds until which the user can pay: at most 24 hours ahead, by default five minutes.
 * @param requestId Your own reference, repeated in the events.
 * @param returnUrl Where the payment page leads the user's browser at the end, with {@code stream_id} in the query. It
 *     must be under one of {@code pages.return_urls}.
 * @param subscriptionId An active subscription of the same {@code main_key}: the payment is checked against what the
 *     user authorized, and counted.
 */
public record SinglePaymentRequest(
        String mainKey,
        List<String> subkeys,
        String description,
        long amount,
        String currency,
        @Nullable Long expiresAt,
        @Nullable String requestId,
        @Nullable String returnUrl,
        @Nullable String subscriptionId) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param mainKey Who pays: 64 hex characters.
     * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
     * @param description What the payment is for; the invoice contains it. At most 639 bytes of UTF-8 (BOLT 11).
     * @param amount Millisats, at most {@code limits.max_amount_millisats}.
     * @param currency {@code millisats}, in either case.
     * @param expiresAt Unix seconds until which the user can pay: at most 24 hours ahead, by default five minutes.
     * @param requestId Your own reference, repeated in the events.
     * @param returnUrl Where the payment page leads the user's browser at the end, with {@code stream_id} in the
     *     query. It must be under one of {@code pages.return_urls}.
     * @param subscriptionId An active subscription of the same {@code main_key}: the payment is checked against what
     *     the user authorized, and counted.
     */
    public SinglePaymentRequest {
        subkeys = List.copyOf(subkeys);
    }

    /**
     * Creates it from what is required.
     *
     * @param mainKey Who pays: 64 hex characters.
     * @param description What the payment is for; the invoice contains it. At most 639 bytes of UTF-8 (BOLT 11).
     * @param amount Millisats, at most {@code limits.max_amount_millisats}.
     * @return a new {@code SinglePaymentRequest}
     */
    public static SinglePaymentRequest of(String mainKey, String description, long amount) {
        return new SinglePaymentRequest(mainKey, List.of(), description, amount, "millisats", null, null, null, null);
    }

    /**
     * Returns a copy with another {@code subkeys}.
     *
     * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
     * @return the copy
     */
    public SinglePaymentRequest withSubkeys(List<String> subkeys) {
        return new SinglePaymentRequest(mainKey, subkeys, description, amount, currency, expiresAt, requestId,
                returnUrl, subscriptionId);
    }

    /**
     * Returns a copy with another {@code expiresAt}.
     *
     * @param expiresAt Unix seconds until which the user can pay: at most 24 hours ahead, by default five minutes.
     * @return the copy
     */
    public SinglePaymentRequest withExpiresAt(@Nullable Long expiresAt) {
        return new SinglePaymentRequest(mainKey, subkeys, description, amount, currency, expiresAt, requestId,
                returnUrl, subscriptionId);
    }

    /**
     * Returns a copy with another {@code requestId}.
     *
     * @param requestId Your own reference, repeated in the events.
     * @return the copy
     */
    public SinglePaymentRequest withRequestId(@Nullable String requestId) {
        return new SinglePaymentRequest(mainKey, subkeys, description, amount, currency, expiresAt, requestId,
                returnUrl, subscriptionId);
    }

    /**
     * Returns a copy with another {@code returnUrl}.
     *
     * @param returnUrl Where the payment page leads the user's browser at the end, with {@code stream_id} in the
     *     query. It must be under one of {@code pages.return_urls}.
     * @return the copy
     */
    public SinglePaymentRequest withReturnUrl(@Nullable String returnUrl) {
        return new SinglePaymentRequest(mainKey, subkeys, description, amount, currency, expiresAt, requestId,
                returnUrl, subscriptionId);
    }

    /**
     * Returns a copy with another {@code subscriptionId}.
     *
     * @param subscriptionId An active subscription of the same {@code main_key}: the payment is checked against what
     *     the user authorized, and counted.
     * @return the copy
     */
    public SinglePaymentRequest withSubscriptionId(@Nullable String subscriptionId) {
        return new SinglePaymentRequest(mainKey, subkeys, description, amount, currency, expiresAt, requestId,
                returnUrl, subscriptionId);
    }
}
