// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * When, and how often, a subscription is paid.
 *
 * @param calendar One of the eight words, or the wallet's expansion of it in systemd's calendar form.
 * @param firstPaymentDue Unix seconds of the first payment.
 * @param maxPayments After how many payments it ends.
 * @param until Unix seconds after which no payment is due.
 */
public record AuthorizedRecurrence(
        String calendar,
        long firstPaymentDue,
        @Nullable Long maxPayments,
        @Nullable Long until) {}
