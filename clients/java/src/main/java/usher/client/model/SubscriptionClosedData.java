// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Data of {@code SubscriptionClosed}, on the stream {@code subscriptions}: the user has closed a subscription.
 *
 * @param subscriptionId Which one.
 * @param mainKey The user.
 * @param reason Why, in the user's words.
 */
public record SubscriptionClosedData(
        String subscriptionId,
        String mainKey,
        @Nullable String reason) implements EventData {}
