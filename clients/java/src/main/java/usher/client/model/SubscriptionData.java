// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Data of {@code Subscription}: the user has agreed to a subscription.
 *
 * @param status {@code approved}.
 * @param subscriptionId Its id, chosen by the user's wallet.
 * @param mainKey Who pays.
 * @param authorizedAmount The most of each payment in millisats, as the user authorized: requests for more are
 *     refused.
 * @param authorizedCurrency {@code millisats}.
 * @param authorizedRecurrence When, and how often, it is paid.
 * @param autoCharge Whether the service asks for each due payment.
 * @param amount If requested in another currency than millisats: the amount of each payment, in the currency's minor
 *     unit.
 * @param amountMillisats If requested in another currency than millisats: what the amount came to when you requested
 *     it, in millisats.
 * @param currency If requested in another currency than millisats: the currency.
 * @param rate If requested in another currency than millisats: at which rate.
 * @param requestId Your own reference.
 */
public record SubscriptionData(
        String status,
        String subscriptionId,
        String mainKey,
        long authorizedAmount,
        String authorizedCurrency,
        AuthorizedRecurrence authorizedRecurrence,
        boolean autoCharge,
        @Nullable Long amount,
        @Nullable Long amountMillisats,
        @Nullable String currency,
        @Nullable AppliedRate rate,
        @Nullable String requestId) implements EventData {}
