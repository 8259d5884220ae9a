// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Data of {@code InvoiceResponse}: a verified invoice from a user's wallet.
 *
 * @param invoice The invoice (BOLT 11).
 * @param paymentHash Its payment hash.
 * @param amount As you requested: millisats, or the minor unit of {@code currency}.
 * @param amountMillisats If requested in another currency than millisats: the amount of the invoice, in millisats.
 * @param currency If requested in another currency than millisats: the currency.
 * @param rate If requested in another currency than millisats: at which rate.
 * @param requestId Your own reference.
 */
public record InvoiceData(
        String invoice,
        String paymentHash,
        long amount,
        @Nullable Long amountMillisats,
        @Nullable String currency,
        @Nullable AppliedRate rate,
        @Nullable String requestId) implements EventData {}
