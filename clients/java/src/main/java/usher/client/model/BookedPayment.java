// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A payment that the service received or made.
 *
 * @param streamId Its stream.
 * @param direction {@code in}: to the service. {@code out}: by the service's Lightning backend.
 * @param kind {@code payment}: {@code POST /payments/single}. {@code charge}: a due date of a subscription. {@code
 *     invoice}: an invoice that the Lightning backend pays, for {@code POST /invoices/pay} or for tickets. {@code
 *     refund}: {@code POST /payments/{stream_id}/refund}. {@code on_chain}: {@code POST /wallet/send}.
 * @param status {@code open}; {@code paid}; {@code not_paid}: it has ended, and may still become {@code paid} while
 *     money can arrive; {@code unknown}: it has ended, and nobody knows whether it was paid.
 * @param amountMillisats What was requested, in millisats.
 * @param description What it is for; of a payment on chain the address.
 * @param createdAt When it was requested, in Unix seconds.
 * @param changedAt When it last changed, in Unix seconds; of a payment that is {@code paid}, when it was.
 * @param amount The price in the minor unit of {@code currency}. Missing, with {@code currency} and {@code rate}, if
 *     it was requested in millisats.
 * @param currency The currency (ISO 4217).
 * @param feeMillisats What the liquidity provider kept of a payment that arrived, or what routing or the miners cost.
 *     Missing if there is none, or it is not known.
 * @param paymentHash The payment hash of its invoice. Missing before there is one.
 * @param rate The rate at which it was priced.
 * @param refundOf The stream of the payment that it pays back.
 * @param requestId Your own reference.
 * @param settledMillisats What has arrived, or was paid without {@code fee_millisats}. Missing unless it is {@code
 *     paid}.
 * @param txid The id of the transaction of a payment on chain. Missing before there is one.
 */
public record BookedPayment(
        String streamId,
        String direction,
        String kind,
        String status,
        long amountMillisats,
        String description,
        long createdAt,
        long changedAt,
        @Nullable Long amount,
        @Nullable String currency,
        @Nullable Long feeMillisats,
        @Nullable String paymentHash,
        @Nullable AppliedRate rate,
        @Nullable String refundOf,
        @Nullable String requestId,
        @Nullable Long settledMillisats,
        @Nullable String txid) {}
