// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * Closes a subscription.
 *
 * @param mainKey Whose subscription it is: 64 hex characters.
 * @param subkeys Keys of the user's devices, at most 8. The wallets that agreed are notified in any case.
 * @param subscriptionId The subscription.
 */
public record CloseSubscriptionRequest(String mainKey, List<String> subkeys, String subscriptionId) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param mainKey Whose subscription it is: 64 hex characters.
     * @param subkeys Keys of the user's devices, at most 8. The wallets that agreed are notified in any case.
     * @param subscriptionId The subscription.
     */
    public CloseSubscriptionRequest {
        subkeys = List.copyOf(subkeys);
    }

    /**
     * Creates it from what is required.
     *
     * @param mainKey Whose subscription it is: 64 hex characters.
     * @param subscriptionId The subscription.
     * @return a new {@code CloseSubscriptionRequest}
     */
    public static CloseSubscriptionRequest of(String mainKey, String subscriptionId) {
        return new CloseSubscriptionRequest(mainKey, List.of(), subscriptionId);
    }

    /**
     * Returns a copy with another {@code subkeys}.
     *
     * @param subkeys Keys of the user's devices, at most 8. The wallets that agreed are notified in any case.
     * @return the copy
     */
    public CloseSubscriptionRequest withSubkeys(List<String> subkeys) {
        return new CloseSubscriptionRequest(mainKey, subkeys, subscriptionId);
    }
}
