// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Data of {@code InvoiceResponse}: a verified invoice from a user's wallet.
 *
 * @param invoice The invoice (BOLT 11).
 * @param paymentHash Its payment hash.
 * @param amount Millisats, as you requested.
 * @param requestId Your own reference.
 */
public record InvoiceData(
        String invoice,
        String paymentHash,
        long amount,
        @Nullable String requestId) implements EventData {}
