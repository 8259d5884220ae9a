// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Asks a user for a ticket.
 *
 * @param mainKey Who is asked: 64 hex characters. Required, here or as {@code recipient_key}.
 * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
 * @param mintUrl The mint that the ticket must be of: an {@code http} or {@code https} URL.
 * @param unit The unit that it must be in: {@code sat}, or one of the mint's own, such as {@code multi}.
 * @param amount What must be left of it, in the unit, when it is redeemed, after the mint's fee. A token of less is
 *     refused.
 * @param expiresAt Unix seconds until which the user can respond: at most 24 hours ahead, by default five minutes.
 * @param redeem Whether the ticket is redeemed at once: then {@code success} means that nobody else can use it any
 *     more, and there is no {@code token} in the event.
 * @param requestId Your own reference, repeated in the events.
 * @param staticToken The token by which the mint knows who may use it (header {@code Clear-auth}), if it wants one.
 */
public record TicketRequest(
        String mainKey,
        List<String> subkeys,
        String mintUrl,
        String unit,
        long amount,
        @Nullable Long expiresAt,
        @Nullable Boolean redeem,
        @Nullable String requestId,
        @Nullable String staticToken) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param mainKey Who is asked: 64 hex characters. Required, here or as {@code recipient_key}.
     * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
     * @param mintUrl The mint that the ticket must be of: an {@code http} or {@code https} URL.
     * @param unit The unit that it must be in: {@code sat}, or one of the mint's own, such as {@code multi}.
     * @param amount What must be left of it, in the unit, when it is redeemed, after the mint's fee. A token of less
     *     is refused.
     * @param expiresAt Unix seconds until which the user can respond: at most 24 hours ahead, by default five minutes.
     * @param redeem Whether the ticket is redeemed at once: then {@code success} means that nobody else can use it any
     *     more, and there is no {@code token} in the event.
     * @param requestId Your own reference, repeated in the events.
     * @param staticToken The token by which the mint knows who may use it (header {@code Clear-auth}), if it wants
     *     one.
     */
    public TicketRequest {
        subkeys = List.copyOf(subkeys);
    }

    /**
     * Creates it from what is required.
     *
     * @param mainKey Who is asked: 64 hex characters. Required, here or as {@code recipient_key}.
     * @param mintUrl The mint that the ticket must be of: an {@code http} or {@code https} URL.
     * @param unit The unit that it must be in: {@code sat}, or one of the mint's own, such as {@code multi}.
     * @param amount What must be left of it, in the unit, when it is redeemed, after the mint's fee. A token of less
     *     is refused.
     * @return a new {@code TicketRequest}
     */
    public static TicketRequest of(String mainKey, String mintUrl, String unit, long amount) {
        return new TicketRequest(mainKey, List.of(), mintUrl, unit, amount, null, null, null, null);
    }

    /**
     * Returns a copy with another {@code subkeys}.
     *
     * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8.
     * @return the copy
     */
    public TicketRequest withSubkeys(List<String> subkeys) {
        return new TicketRequest(mainKey, subkeys, mintUrl, unit, amount, expiresAt, redeem, requestId, staticToken);
    }

    /**
     * Returns a copy with another {@code expiresAt}.
     *
     * @param expiresAt Unix seconds until which the user can respond: at most 24 hours ahead, by default five minutes.
     * @return the copy
     */
    public TicketRequest withExpiresAt(@Nullable Long expiresAt) {
        return new TicketRequest(mainKey, subkeys, mintUrl, unit, amount, expiresAt, redeem, requestId, staticToken);
    }

    /**
     * Returns a copy with another {@code redeem}.
     *
     * @param redeem Whether the ticket is redeemed at once: then {@code success} means that nobody else can use it any
     *     more, and there is no {@code token} in the event.
     * @return the copy
     */
    public TicketRequest withRedeem(@Nullable Boolean redeem) {
        return new TicketRequest(mainKey, subkeys, mintUrl, unit, amount, expiresAt, redeem, requestId, staticToken);
    }

    /**
     * Returns a copy with another {@code requestId}.
     *
     * @param requestId Your own reference, repeated in the events.
     * @return the copy
     */
    public TicketRequest withRequestId(@Nullable String requestId) {
        return new TicketRequest(mainKey, subkeys, mintUrl, unit, amount, expiresAt, redeem, requestId, staticToken);
    }

    /**
     * Returns a copy with another {@code staticToken}.
     *
     * @param staticToken The token by which the mint knows who may use it (header {@code Clear-auth}), if it wants
     *     one.
     * @return the copy
     */
    public TicketRequest withStaticToken(@Nullable String staticToken) {
        return new TicketRequest(mainKey, subkeys, mintUrl, unit, amount, expiresAt, redeem, requestId, staticToken);
    }

    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "TicketRequest[mainKey=" + mainKey
                + ", subkeys=" + subkeys
                + ", mintUrl=" + mintUrl
                + ", unit=" + unit
                + ", amount=" + amount
                + ", expiresAt=" + expiresAt
                + ", redeem=" + redeem
                + ", requestId=" + requestId
                + ", staticToken=…"
                + "]";
    }
}
