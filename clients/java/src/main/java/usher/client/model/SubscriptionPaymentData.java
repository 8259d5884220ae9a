// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Data of {@code SubscriptionPayment}, on the stream {@code subscriptions}: an automatic charge succeeded or failed.
 *
 * @param subscriptionId Which subscription.
 * @param mainKey Who pays.
 * @param number The number of the due date, from 1.
 * @param due The due date, in Unix seconds.
 * @param attempt The number of the attempt at this due date, from 1.
 * @param amount Millisats, or the minor unit of {@code currency}.
 * @param status The outcome.
 * @param amountMillisats If requested in another currency than millisats: what the charge came to, in millisats;
 *     missing if there was no rate.
 * @param currency If requested in another currency than millisats: the currency.
 * @param nextAttemptAt When this due date is tried again, in Unix seconds; if missing, it is skipped.
 * @param preimage With {@code paid}: the proof.
 * @param rate If requested in another currency than millisats: at which rate.
 * @param reason Why not.
 */
public record SubscriptionPaymentData(
        String subscriptionId,
        String mainKey,
        long number,
        long due,
        long attempt,
        long amount,
        String status,
        @Nullable Long amountMillisats,
        @Nullable String currency,
        @Nullable Long nextAttemptAt,
        @Nullable String preimage,
        @Nullable AppliedRate rate,
        @Nullable String reason) implements EventData {
    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "SubscriptionPaymentData[subscriptionId=" + subscriptionId
                + ", mainKey=" + mainKey
                + ", number=" + number
                + ", due=" + due
                + ", attempt=" + attempt
                + ", amount=" + amount
                + ", status=" + status
                + ", amountMillisats=" + amountMillisats
                + ", currency=" + currency
                + ", nextAttemptAt=" + nextAttemptAt
                + ", preimage=…"
                + ", rate=" + rate
                + ", reason=" + reason
                + "]";
    }
}
