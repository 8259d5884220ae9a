// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Data of {@code Subscription}: the user has agreed to a subscription.
 *
 * @param status {@code approved}.
 * @param subscriptionId Its id, chosen by the user's wallet.
 * @param mainKey Who pays.
 * @param authorizedAmount Millisats of each payment, as the user authorized: requests for more are refused.
 * @param authorizedCurrency {@code millisats}.
 * @param authorizedRecurrence When, and how often, it is paid.
 * @param autoCharge Whether the service asks for each due payment by itself.
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
        @Nullable String requestId) implements EventData {}
