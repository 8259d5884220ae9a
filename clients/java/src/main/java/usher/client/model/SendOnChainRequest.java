// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Sends money on chain.
 *
 * @param address A Bitcoin address on {@code wallet.network}.
 * @param amount Millisats that arrive there, a multiple of 1,000; the miner fee comes on top. Or {@code all}: all that
 *     the node can spend, less the fee.
 * @param feeRate Sats per virtual byte. By default what the chain source names for a block within an hour.
 * @param requestId Your own reference, repeated in the events.
 */
public record SendOnChainRequest(String address, Object amount, @Nullable Long feeRate, @Nullable String requestId) {
    /**
     * Creates it from what is required.
     *
     * @param address A Bitcoin address on {@code wallet.network}.
     * @param amount Millisats that arrive there, a multiple of 1,000; the miner fee comes on top. Or {@code all}: all
     *     that the node can spend, less the fee.
     * @return a new {@code SendOnChainRequest}
     */
    public static SendOnChainRequest of(String address, Object amount) {
        return new SendOnChainRequest(address, amount, null, null);
    }

    /**
     * Returns a copy with another {@code feeRate}.
     *
     * @param feeRate Sats per virtual byte. By default what the chain source names for a block within an hour.
     * @return the copy
     */
    public SendOnChainRequest withFeeRate(@Nullable Long feeRate) {
        return new SendOnChainRequest(address, amount, feeRate, requestId);
    }

    /**
     * Returns a copy with another {@code requestId}.
     *
     * @param requestId Your own reference, repeated in the events.
     * @return the copy
     */
    public SendOnChainRequest withRequestId(@Nullable String requestId) {
        return new SendOnChainRequest(address, amount, feeRate, requestId);
    }
}
