// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * When, and how often, a subscription is paid.
 *
 * @param calendar When the payments after the first are due.
 * @param firstPaymentDue Unix seconds of the first payment; may be now.
 * @param maxPayments After how many payments the subscription ends.
 * @param until Unix seconds after which no payment is due.
 */
public record Recurrence(String calendar, long firstPaymentDue, @Nullable Long maxPayments, @Nullable Long until) {
    /**
     * Creates it from what is required.
     *
     * @param calendar When the payments after the first are due.
     * @param firstPaymentDue Unix seconds of the first payment; may be now.
     * @return a new {@code Recurrence}
     */
    public static Recurrence of(String calendar, long firstPaymentDue) {
        return new Recurrence(calendar, firstPaymentDue, null, null);
    }

    /**
     * Returns a copy with another {@code maxPayments}.
     *
     * @param maxPayments After how many payments the subscription ends.
     * @return the copy
     */
    public Recurrence withMaxPayments(@Nullable Long maxPayments) {
        return new Recurrence(calendar, firstPaymentDue, maxPayments, until);
    }

    /**
     * Returns a copy with another {@code until}.
     *
     * @param until Unix seconds after which no payment is due.
     * @return the copy
     */
    public Recurrence withUntil(@Nullable Long until) {
        return new Recurrence(calendar, firstPaymentDue, maxPayments, until);
    }
}
