// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An API key, without its secret.
 *
 * @param id Its id.
 * @param name What you call it.
 * @param scopes What it may do.
 * @param createdAt When it was created, in Unix seconds.
 * @param expired That time has come.
 * @param networks The networks from which it is accepted; all if there are none.
 * @param ownStreamsOnly Whether it sees only the streams that it has started.
 * @param dailyBudgetMillisats Most millisats that it may send within 24 hours.
 * @param expiresAt From when on it is not accepted, in Unix seconds.
 * @param lastUsedAt When its secret was used last, in Unix seconds.
 * @param previous After a rotation: the former secret, while it is accepted.
 * @param requestsPerSecond Most requests per second.
 */
public record ApiKey(
        String id,
        String name,
        List<String> scopes,
        long createdAt,
        boolean expired,
        List<String> networks,
        boolean ownStreamsOnly,
        @Nullable Long dailyBudgetMillisats,
        @Nullable Long expiresAt,
        @Nullable Long lastUsedAt,
        @Nullable PreviousSecret previous,
        @Nullable Long requestsPerSecond) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param id Its id.
     * @param name What you call it.
     * @param scopes What it may do.
     * @param createdAt When it was created, in Unix seconds.
     * @param expired That time has come.
     * @param networks The networks from which it is accepted; all if there are none.
     * @param ownStreamsOnly Whether it sees only the streams that it has started.
     * @param dailyBudgetMillisats Most millisats that it may send within 24 hours.
     * @param expiresAt From when on it is not accepted, in Unix seconds.
     * @param lastUsedAt When its secret was used last, in Unix seconds.
     * @param previous After a rotation: the former secret, while it is accepted.
     * @param requestsPerSecond Most requests per second.
     */
    public ApiKey {
        scopes = List.copyOf(scopes);
        networks = List.copyOf(networks);
    }
}
