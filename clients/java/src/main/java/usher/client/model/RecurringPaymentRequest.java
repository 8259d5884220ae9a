// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Asks a user to agree to a subscription.
 *
 * @param mainKey Who pays: 64 hex characters.
 * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
 * @param description What the subscription is for. At most 639 bytes of UTF-8.
 * @param amount Of each payment: in millisats, or in the minor unit of {@code currency}, such as cents. It may come to
 *     at most {@code limits.max_amount_millisats}.
 * @param currency {@code millisats}, or the code of a currency (ISO 4217) that {@code rates.currencies} lists; in
 *     either case. What {@code amount} comes to in millisats is then fixed anew for each payment, and rounded up to a
 *     whole sat.
 * @param recurrence When, and how often, the user pays.
 * @param expiresAt Unix seconds until which the user can respond: in the future, within a year, and not after {@code
 *     recurrence.until}.
 * @param autoCharge Whether the service asks for each due payment, from {@code first_payment_due} on, or from the last
 *     due date before the user agreed. It reports each on the stream {@code subscriptions}. Needs a Lightning backend.
 * @param maxAmountMillisats Only with another {@code currency} than millisats: the most that each payment may come to,
 *     in millisats. This is what the user is asked to authorize; an automatic charge that comes to more fails. By
 *     default twice what {@code amount} comes to now.
 * @param minimumAmount The least that the user must authorize for each payment, in millisats; by default what {@code
 *     amount} comes to now. A subscription for less is closed at once, and the stream gets {@code user_rejected} with
 *     the reason.
 * @param requestId Your own reference, repeated in the events.
 */
public record RecurringPaymentRequest(
        String mainKey,
        List<String> subkeys,
        String description,
        long amount,
        String currency,
        Recurrence recurrence,
        long expiresAt,
        @Nullable Boolean autoCharge,
        @Nullable Long maxAmountMillisats,
        @Nullable Long minimumAmount,
        @Nullable String requestId) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param mainKey Who pays: 64 hex characters.
     * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
     * @param description What the subscription is for. At most 639 bytes of UTF-8.
     * @param amount Of each payment: in millisats, or in the minor unit of {@code currency}, such as cents. It may
     *     come to at most {@code limits.max_amount_millisats}.
     * @param currency {@code millisats}, or the code of a currency (ISO 4217) that {@code rates.currencies} lists; in
     *     either case. What {@code amount} comes to in millisats is then fixed anew for each payment, and rounded up
     *     to a whole sat.
     * @param recurrence When, and how often, the user pays.
     * @param expiresAt Unix seconds until which the user can respond: in the future, within a year, and not after
     *     {@code recurrence.until}.
     * @param autoCharge Whether the service asks for each due payment, from {@code first_payment_due} on, or from the
     *     last due date before the user agreed. It reports each on the stream {@code subscriptions}. Needs a Lightning
     *     backend.
     * @param maxAmountMillisats Only with another {@code currency} than millisats: the most that each payment may come
     *     to, in millisats. This is what the user is asked to authorize; an automatic charge that comes to more fails.
     *     By default twice what {@code amount} comes to now.
     * @param minimumAmount The least that the user must authorize for each payment, in millisats; by default what
     *     {@code amount} comes to now. A subscription for less is closed at once, and the stream gets {@code
     *     user_rejected} with the reason.
     * @param requestId Your own reference, repeated in the events.
     */
    public RecurringPaymentRequest {
        subkeys = List.copyOf(subkeys);
    }

    /**
     * Creates it from what is required.
     *
     * @param mainKey Who pays: 64 hex characters.
     * @param description What the subscription is for. At most 639 bytes of UTF-8.
     * @param amount Of each payment: in millisats, or in the minor unit of {@code currency}, such as cents. It may
     *     come to at most {@code limits.max_amount_millisats}.
     * @param recurrence When, and how often, the user pays.
     * @param expiresAt Unix seconds until which the user can respond: in the future, within a year, and not after
     *     {@code recurrence.until}.
     * @return a new {@code RecurringPaymentRequest}
     */
    public static RecurringPaymentRequest of(String mainKey, String description, long amount, Recurrence recurrence,
            long expiresAt) {
        return new RecurringPaymentRequest(mainKey, List.of(), description, amount, "millisats", recurrence,
                expiresAt, null, null, null, null);
    }

    /**
     * Returns a copy with another {@code subkeys}.
     *
     * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
     * @return the copy
     */
    public RecurringPaymentRequest withSubkeys(List<String> subkeys) {
        return new RecurringPaymentRequest(mainKey, subkeys, description, amount, currency, recurrence, expiresAt,
                autoCharge, maxAmountMillisats, minimumAmount, requestId);
    }

    /**
     * Returns a copy with another {@code currency}.
     *
     * @param currency {@code millisats}, or the code of a currency (ISO 4217) that {@code rates.currencies} lists; in
     *     either case. What {@code amount} comes to in millisats is then fixed anew for each payment, and rounded up
     *     to a whole sat.
     * @return the copy
     */
    public RecurringPaymentRequest withCurrency(String currency) {
        return new RecurringPaymentRequest(mainKey, subkeys, description, amount, currency, recurrence, expiresAt,
                autoCharge, maxAmountMillisats, minimumAmount, requestId);
    }

    /**
     * Returns a copy with another {@code autoCharge}.
     *
     * @param autoCharge Whether the service asks for each due payment, from {@code first_payment_due} on, or from the
     *     last due date before the user agreed. It reports each on the stream {@code subscriptions}. Needs a Lightning
     *     backend.
     * @return the copy
     */
    public RecurringPaymentRequest withAutoCharge(@Nullable Boolean autoCharge) {
        return new RecurringPaymentRequest(mainKey, subkeys, description, amount, currency, recurrence, expiresAt,
                autoCharge, maxAmountMillisats, minimumAmount, requestId);
    }

    /**
     * Returns a copy with another {@code maxAmountMillisats}.
     *
     * @param maxAmountMillisats Only with another {@code currency} than millisats: the most that each payment may come
     *     to, in millisats. This is what the user is asked to authorize; an automatic charge that comes to more fails.
     *     By default twice what {@code amount} comes to now.
     * @return the copy
     */
    public RecurringPaymentRequest withMaxAmountMillisats(@Nullable Long maxAmountMillisats) {
        return new RecurringPaymentRequest(mainKey, subkeys, description, amount, currency, recurrence, expiresAt,
                autoCharge, maxAmountMillisats, minimumAmount, requestId);
    }

    /**
     * Returns a copy with another {@code minimumAmount}.
     *
     * @param minimumAmount The least that the user must authorize for each payment, in millisats; by default what
     *     {@code amount} comes to now. A subscription for less is closed at once, and the stream gets {@code
     *     user_rejected} with the reason.
     * @return the copy
     */
    public RecurringPaymentRequest withMinimumAmount(@Nullable Long minimumAmount) {
        return new RecurringPaymentRequest(mainKey, subkeys, description, amount, currency, recurrence, expiresAt,
                autoCharge, maxAmountMillisats, minimumAmount, requestId);
    }

    /**
     * Returns a copy with another {@code requestId}.
     *
     * @param requestId Your own reference, repeated in the events.
     * @return the copy
     */
    public RecurringPaymentRequest withRequestId(@Nullable String requestId) {
        return new RecurringPaymentRequest(mainKey, subkeys, description, amount, currency, recurrence, expiresAt,
                autoCharge, maxAmountMillisats, minimumAmount, requestId);
    }
}
