// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A channel. All amounts are millisats.
 *
 * @param channelId Its id.
 * @param peer The peer's public key.
 * @param peerAddress Where the peer was last reached.
 * @param funding The output that holds its money: {@code <transaction id>:<index>}; {@code null} before its funding
 *     transaction is made.
 * @param capacity What both sides hold together.
 * @param outbound What can be sent over it.
 * @param inbound What can be received over it.
 * @param openedByService Whether the service opened it; otherwise the peer did.
 * @param ready Whether its funding transaction is confirmed, or the service trusts the peer not to take it back.
 * @param usable Whether payments can pass now.
 */
public record Channel(
        String channelId,
        String peer,
        @Nullable String peerAddress,
        @Nullable String funding,
        long capacity,
        long outbound,
        long inbound,
        boolean openedByService,
        boolean ready,
        boolean usable) {}
