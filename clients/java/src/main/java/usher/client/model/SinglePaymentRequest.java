// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Asks for a payment.
 *
 * @param description What the payment is for; the invoice contains it. At most 639 bytes of UTF-8 (BOLT 11).
 * @param amount In millisats, or in the minor unit of {@code currency}, such as cents. It may come to at most {@code
 *     limits.max_amount_millisats}.
 * @param currency {@code millisats}, or the code of a currency (ISO 4217) that {@code rates.currencies} lists; in
 *     either case. What {@code amount} comes to in millisats is fixed now, and rounded up to a whole sat.
 * @param expiresAt Unix seconds until which the user can pay: at most 24 hours ahead, by default five minutes.
 * @param mainKey The user who is asked to pay: 64 hex characters. Without it no wallet is asked: anybody who opens the
 *     page or has the invoice can pay.
 * @param requestId Your own reference, repeated in the events.
 * @param returnUrl Where the payment page leads the user's browser at the end, with {@code stream_id} in the query. It
 *     must be under one of {@code pages.return_urls}.
 * @param subkeys Keys that may respond for {@code main_key} without a proof of delegation; usually none, at most 8.
 * @param subscriptionId An active subscription of the same {@code main_key}: the payment is checked against what the
 *     user authorized, and counted.
 */
public record SinglePaymentRequest(
        String description,
        long amount,
        String currency,
        @Nullable Long expiresAt,
        @Nullable String mainKey,
        @Nullable String requestId,
        @Nullable String returnUrl,
        @Nullable List<String> subkeys,
        @Nullable String subscriptionId) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param description What the payment is for; the invoice contains it. At most 639 bytes of UTF-8 (BOLT 11).
     * @param amount In millisats, or in the minor unit of {@code currency}, such as cents. It may come to at most
     *     {@code limits.max_amount_millisats}.
     * @param currency {@code millisats}, or the code of a currency (ISO 4217) that {@code rates.currencies} lists; in
     *     either case. What {@code amount} comes to in millisats is fixed now, and rounded up to a whole sat.
     * @param expiresAt Unix seconds until which the user can pay: at most 24 hours ahead, by default five minutes.
     * @param mainKey The user who is asked to pay: 64 hex characters. Without it no wallet is asked: anybody who opens
     *     the page or has the invoice can pay.
     * @param requestId Your own reference, repeated in the events.
     * @param returnUrl Where the payment page leads the user's browser at the end, with {@code stream_id} in the
     *     query. It must be under one of {@code pages.return_urls}.
     * @param subkeys Keys that may respond for {@code main_key} without a proof of delegation; usually none, at most
     *     8.
     * @param subscriptionId An active subscription of the same {@code main_key}: the payment is checked against what
     *     the user authorized, and counted.
     */
    public SinglePaymentRequest {
        subkeys = subkeys == null ? null : List.copyOf(subkeys);
    }

    /**
     * Creates it from what is required.
     *
     * @param description What the payment is for; the invoice contains it. At most 639 bytes of UTF-8 (BOLT 11).
     * @param amount In millisats, or in the minor unit of {@code currency}, such as cents. It may come to at most
     *     {@code limits.max_amount_millisats}.
     * @return a new {@code SinglePaymentRequest}
     */
    public static SinglePaymentRequest of(String description, long amount) {
        return new SinglePaymentRequest(description, amount, "millisats", null, null, null, null, null, null);
    }

    /**
     * Returns a copy with another {@code currency}.
     *
     * @param currency {@code millisats}, or the code of a currency (ISO 4217) that {@code rates.currencies} lists; in
     *     either case. What {@code amount} comes to in millisats is fixed now, and rounded up to a whole sat.
     * @return the copy
     */
    public SinglePaymentRequest withCurrency(String currency) {
        return new SinglePaymentRequest(description, amount, currency, expiresAt, mainKey, requestId, returnUrl,
                subkeys, subscriptionId);
    }

    /**
     * Returns a copy with another {@code expiresAt}.
     *
     * @param expiresAt Unix seconds until which the user can pay: at most 24 hours ahead, by default five minutes.
     * @return the copy
     */
    public SinglePaymentRequest withExpiresAt(@Nullable Long expiresAt) {
        return new SinglePaymentRequest(description, amount, currency, expiresAt, mainKey, requestId, returnUrl,
                subkeys, subscriptionId);
    }

    /**
     * Returns a copy with another {@code mainKey}.
     *
     * @param mainKey The user who is asked to pay: 64 hex characters. Without it no wallet is asked: anybody who opens
     *     the page or has the invoice can pay.
     * @return the copy
     */
    public SinglePaymentRequest withMainKey(@Nullable String mainKey) {
        return new SinglePaymentRequest(description, amount, currency, expiresAt, mainKey, requestId, returnUrl,
                subkeys, subscriptionId);
    }

    /**
     * Returns a copy with another {@code requestId}.
     *
     * @param requestId Your own reference, repeated in the events.
     * @return the copy
     */
    public SinglePaymentRequest withRequestId(@Nullable String requestId) {
        return new SinglePaymentRequest(description, amount, currency, expiresAt, mainKey, requestId, returnUrl,
                subkeys, subscriptionId);
    }

    /**
     * Returns a copy with another {@code returnUrl}.
     *
     * @param returnUrl Where the payment page leads the user's browser at the end, with {@code stream_id} in the
     *     query. It must be under one of {@code pages.return_urls}.
     * @return the copy
     */
    public SinglePaymentRequest withReturnUrl(@Nullable String returnUrl) {
        return new SinglePaymentRequest(description, amount, currency, expiresAt, mainKey, requestId, returnUrl,
                subkeys, subscriptionId);
    }

    /**
     * Returns a copy with another {@code subkeys}.
     *
     * @param subkeys Keys that may respond for {@code main_key} without a proof of delegation; usually none, at most
     *     8.
     * @return the copy
     */
    public SinglePaymentRequest withSubkeys(@Nullable List<String> subkeys) {
        return new SinglePaymentRequest(description, amount, currency, expiresAt, mainKey, requestId, returnUrl,
                subkeys, subscriptionId);
    }

    /**
     * Returns a copy with another {@code subscriptionId}.
     *
     * @param subscriptionId An active subscription of the same {@code main_key}: the payment is checked against what
     *     the user authorized, and counted.
     * @return the copy
     */
    public SinglePaymentRequest withSubscriptionId(@Nullable String subscriptionId) {
        return new SinglePaymentRequest(description, amount, currency, expiresAt, mainKey, requestId, returnUrl,
                subkeys, subscriptionId);
    }
}
