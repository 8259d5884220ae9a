// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * An operation that has started, with its price.
 *
 * @param streamId Where to read its events: {@code GET /events/{stream_id}}.
 * @param amount If requested in another currency than millisats: the amount, in the currency's minor unit.
 * @param amountMillisats If requested in another currency than millisats: what it came to now, in millisats.
 * @param currency If requested in another currency than millisats: the currency.
 * @param rate If requested in another currency than millisats: at which rate.
 */
public record PricedStreamStarted(
        String streamId,
        @Nullable Long amount,
        @Nullable Long amountMillisats,
        @Nullable String currency,
        @Nullable AppliedRate rate) {}
