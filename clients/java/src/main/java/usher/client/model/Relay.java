// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A relay and the state of its connection.
 *
 * @param relay Its address, normalised: scheme and host in lower case, no default port, no slash for an empty path.
 * @param status {@code connecting} (the first time), {@code connected}, or {@code disconnected} (with further attempts
 *     at growing intervals).
 * @param origin Why it is connected: {@code configured} or {@code added} (at run time) by the operator; {@code user}
 *     while the service waits for that user's reply.
 * @param since Since when it has this status, in Unix seconds.
 * @param reason Why it is disconnected, or what it refuses, in the relay's own words. API keys learn no more of an
 *     added relay than that it cannot be reached.
 * @param subscribed Whether it has confirmed the service's relay subscription: what wallets send there arrives.
 * @param queued Events waiting to be sent to it.
 */
public record Relay(
        String relay,
        String status,
        String origin,
        @Nullable Long since,
        @Nullable String reason,
        boolean subscribed,
        long queued) {}
