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
 * @param amount Millisats.
 * @param status The outcome.
 * @param nextAttemptAt When this due date is tried again, in Unix seconds; if missing, it is skipped.
 * @param preimage With {@code paid}: the proof.
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
        @Nullable Long nextAttemptAt,
        @Nullable String preimage,
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
                + ", nextAttemptAt=" + nextAttemptAt
                + ", preimage=…"
                + ", reason=" + reason
                + "]";
    }
}
