package usher.client;

import org.jspecify.annotations.Nullable;
import usher.client.model.SubscriptionData;

/** How the request for a subscription ended. */
public sealed interface SubscriptionResult {
    /**
     * The user agreed.
     *
     * @param subscription its id, and what the user authorized
     */
    record Agreed(SubscriptionData subscription) implements SubscriptionResult {}

    /**
     * The user refused.
     *
     * @param reason why, in the user's words
     */
    record Rejected(@Nullable String reason) implements SubscriptionResult {}
}
