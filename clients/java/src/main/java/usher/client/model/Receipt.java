// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The receipt of a payment.
 *
 * @param streamId The payment's stream: the number of the receipt.
 * @param amountMillisats What was requested and paid, in millisats.
 * @param description What it was for.
 * @param paidAt When it was paid, in Unix seconds.
 * @param amount The price in the minor unit of {@code currency}. Missing, with {@code currency} and {@code rate}, if
 *     it was requested in millisats.
 * @param currency The currency (ISO 4217).
 * @param paymentHash The payment hash of the invoice. The payer's wallet has its preimage as proof.
 * @param rate The rate at which it was priced.
 * @param requestId Your own reference.
 */
public record Receipt(
        String streamId,
        long amountMillisats,
        String description,
        long paidAt,
        @Nullable Long amount,
        @Nullable String currency,
        @Nullable String paymentHash,
        @Nullable AppliedRate rate,
        @Nullable String requestId) {}
