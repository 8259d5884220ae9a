// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * What it costs to receive a payment.
 *
 * @param opensChannel Whether the liquidity provider would open a channel for it.
 * @param openingFee What the provider would keep of the payment for that, in millisats.
 */
public record ReceivingCost(boolean opensChannel, long openingFee) {}
