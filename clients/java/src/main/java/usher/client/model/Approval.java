// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A payment by the service that waits for an approval.
 *
 * @param streamId Its stream.
 * @param kind {@code invoice}, {@code refund} or {@code on_chain}, as {@code GET /payments} has it.
 * @param amountMillisats Millisats.
 * @param maxFeeMillisats The largest fee, in millisats, that comes on top.
 * @param requestedBy Who asked for it: {@code token}, the id of an API key, or {@code revoked_key} if that was revoked
 *     since.
 * @param requestedAt When it was asked for, in Unix seconds.
 * @param expiresAt Unix seconds until which it can be approved; then it ends unpaid.
 * @param address Of a payment on chain: where the money goes.
 * @param description Of an invoice, what the payee wrote; of a refund, what the payment was for. Without it the
 *     purpose is unknown: an invoice says nothing, or has only a hash of it.
 * @param payee Of an invoice: the public key of the payee's node.
 * @param refundOf Of a refund: the stream of the payment that it pays back.
 */
public record Approval(
        String streamId,
        String kind,
        long amountMillisats,
        long maxFeeMillisats,
        String requestedBy,
        long requestedAt,
        long expiresAt,
        @Nullable String address,
        @Nullable String description,
        @Nullable String payee,
        @Nullable String refundOf) {}
