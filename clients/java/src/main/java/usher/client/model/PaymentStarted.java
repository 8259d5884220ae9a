// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A payment that has started.
 *
 * @param streamId Where to read its events: {@code GET /events/{stream_id}}.
 * @param pageUrl A page for the payer's browser, on which the invoice can be paid with any Lightning wallet. Anybody
 *     who has it can pay.
 * @param amount If requested in another currency than millisats: the amount, in the currency's minor unit.
 * @param amountMillisats If requested in another currency than millisats: what the invoice is for, in millisats.
 * @param currency If requested in another currency than millisats: the currency.
 * @param rate If requested in another currency than millisats: at which rate.
 */
public record PaymentStarted(
        String streamId,
        String pageUrl,
        @Nullable Long amount,
        @Nullable Long amountMillisats,
        @Nullable String currency,
        @Nullable AppliedRate rate) {
    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "PaymentStarted[streamId=" + streamId
                + ", pageUrl=…"
                + ", amount=" + amount
                + ", amountMillisats=" + amountMillisats
                + ", currency=" + currency
                + ", rate=" + rate
                + "]";
    }
}
