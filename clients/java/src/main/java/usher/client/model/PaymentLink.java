// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A payment link.
 *
 * @param streamId Where to read its events: {@code GET /events/{stream_id}}.
 * @param status {@code open}, {@code closed}, {@code expired} ({@code expires_at}) or {@code completed} ({@code
 *     max_payments}).
 * @param currency {@code millisats}, or the currency.
 * @param description What the payments are for.
 * @param payments How many payments were made.
 * @param pageUrl Its page.
 * @param lnurl The same for wallets (LNURL-pay).
 * @param createdAt When it was created, in Unix seconds.
 * @param amount What each payer pays, in millisats or in the minor unit of {@code currency}.
 * @param expiresAt Unix seconds from which no more invoices are given out.
 * @param max The most that a payer may choose.
 * @param maxPayments After how many payments no more invoices are given out.
 * @param min The least that a payer may choose.
 * @param requestId Your own reference.
 */
public record PaymentLink(
        String streamId,
        String status,
        String currency,
        String description,
        long payments,
        String pageUrl,
        String lnurl,
        long createdAt,
        @Nullable Long amount,
        @Nullable Long expiresAt,
        @Nullable Long max,
        @Nullable Long maxPayments,
        @Nullable Long min,
        @Nullable String requestId) {
    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "PaymentLink[streamId=" + streamId
                + ", status=" + status
                + ", currency=" + currency
                + ", description=" + description
                + ", payments=" + payments
                + ", pageUrl=…"
                + ", lnurl=" + lnurl
                + ", createdAt=" + createdAt
                + ", amount=" + amount
                + ", expiresAt=" + expiresAt
                + ", max=" + max
                + ", maxPayments=" + maxPayments
                + ", min=" + min
                + ", requestId=" + requestId
                + "]";
    }
}
