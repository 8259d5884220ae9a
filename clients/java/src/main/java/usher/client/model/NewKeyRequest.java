// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Creates an API key.
 *
 * @param name What you call it, on one line.
 * @param scopes What it may do: at most 100 scopes (docs/keys.md says which endpoint needs which).
 * @param dailyBudgetMillisats Most millisats that it may send within 24 hours, fees included, beside {@code
 *     wallet.daily_budget_millisats}. By default, only that limits it.
 * @param expiresAt Unix seconds from which it is not accepted any more. By default it does not expire.
 * @param networks The networks from which it is accepted, at most 32, in CIDR notation or as single addresses, as the
 *     service sees its clients ({@code info.trusted_proxies}). By default all.
 * @param ownStreamsOnly Whether it sees only the streams that it has started. By default it sees all.
 * @param requestsPerSecond Most requests per second, in a burst of as many. By default only {@code
 *     limits.requests_per_second} limits it.
 */
public record NewKeyRequest(
        String name,
        List<String> scopes,
        @Nullable Long dailyBudgetMillisats,
        @Nullable Long expiresAt,
        @Nullable List<String> networks,
        @Nullable Boolean ownStreamsOnly,
        @Nullable Long requestsPerSecond) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param name What you call it, on one line.
     * @param scopes What it may do: at most 100 scopes (docs/keys.md says which endpoint needs which).
     * @param dailyBudgetMillisats Most millisats that it may send within 24 hours, fees included, beside {@code
     *     wallet.daily_budget_millisats}. By default, only that limits it.
     * @param expiresAt Unix seconds from which it is not accepted any more. By default it does not expire.
     * @param networks The networks from which it is accepted, at most 32, in CIDR notation or as single addresses, as
     *     the service sees its clients ({@code info.trusted_proxies}). By default all.
     * @param ownStreamsOnly Whether it sees only the streams that it has started. By default it sees all.
     * @param requestsPerSecond Most requests per second, in a burst of as many. By default only {@code
     *     limits.requests_per_second} limits it.
     */
    public NewKeyRequest {
        scopes = List.copyOf(scopes);
        networks = networks == null ? null : List.copyOf(networks);
    }

    /**
     * Creates it from what is required.
     *
     * @param name What you call it, on one line.
     * @param scopes What it may do: at most 100 scopes (docs/keys.md says which endpoint needs which).
     * @return a new {@code NewKeyRequest}
     */
    public static NewKeyRequest of(String name, List<String> scopes) {
        return new NewKeyRequest(name, scopes, null, null, null, null, null);
    }

    /**
     * Returns a copy with another {@code dailyBudgetMillisats}.
     *
     * @param dailyBudgetMillisats Most millisats that it may send within 24 hours, fees included, beside {@code
     *     wallet.daily_budget_millisats}. By default, only that limits it.
     * @return the copy
     */
    public NewKeyRequest withDailyBudgetMillisats(@Nullable Long dailyBudgetMillisats) {
        return new NewKeyRequest(name, scopes, dailyBudgetMillisats, expiresAt, networks, ownStreamsOnly,
                requestsPerSecond);
    }

    /**
     * Returns a copy with another {@code expiresAt}.
     *
     * @param expiresAt Unix seconds from which it is not accepted any more. By default it does not expire.
     * @return the copy
     */
    public NewKeyRequest withExpiresAt(@Nullable Long expiresAt) {
        return new NewKeyRequest(name, scopes, dailyBudgetMillisats, expiresAt, networks, ownStreamsOnly,
                requestsPerSecond);
    }

    /**
     * Returns a copy with another {@code networks}.
     *
     * @param networks The networks from which it is accepted, at most 32, in CIDR notation or as single addresses, as
     *     the service sees its clients ({@code info.trusted_proxies}). By default all.
     * @return the copy
     */
    public NewKeyRequest withNetworks(@Nullable List<String> networks) {
        return new NewKeyRequest(name, scopes, dailyBudgetMillisats, expiresAt, networks, ownStreamsOnly,
                requestsPerSecond);
    }

    /**
     * Returns a copy with another {@code ownStreamsOnly}.
     *
     * @param ownStreamsOnly Whether it sees only the streams that it has started. By default it sees all.
     * @return the copy
     */
    public NewKeyRequest withOwnStreamsOnly(@Nullable Boolean ownStreamsOnly) {
        return new NewKeyRequest(name, scopes, dailyBudgetMillisats, expiresAt, networks, ownStreamsOnly,
                requestsPerSecond);
    }

    /**
     * Returns a copy with another {@code requestsPerSecond}.
     *
     * @param requestsPerSecond Most requests per second, in a burst of as many. By default only {@code
     *     limits.requests_per_second} limits it.
     * @return the copy
     */
    public NewKeyRequest withRequestsPerSecond(@Nullable Long requestsPerSecond) {
        return new NewKeyRequest(name, scopes, dailyBudgetMillisats, expiresAt, networks, ownStreamsOnly,
                requestsPerSecond);
    }
}
