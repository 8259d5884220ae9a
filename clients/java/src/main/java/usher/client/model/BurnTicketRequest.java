// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Redeems a ticket.
 *
 * @param mintUrl The mint that the token must be of: an {@code http} or {@code https} URL.
 * @param unit The unit that it must be in.
 * @param token The token: version 3 ({@code cashuA…}) or 4 ({@code cashuB…}), also as a {@code cashu:} URI.
 * @param staticToken The token by which the mint knows who may use it (header {@code Clear-auth}), if it wants one.
 */
public record BurnTicketRequest(String mintUrl, String unit, String token, @Nullable String staticToken) {
    /**
     * Creates it from what is required.
     *
     * @param mintUrl The mint that the token must be of: an {@code http} or {@code https} URL.
     * @param unit The unit that it must be in.
     * @param token The token: version 3 ({@code cashuA…}) or 4 ({@code cashuB…}), also as a {@code cashu:} URI.
     * @return a new {@code BurnTicketRequest}
     */
    public static BurnTicketRequest of(String mintUrl, String unit, String token) {
        return new BurnTicketRequest(mintUrl, unit, token, null);
    }

    /**
     * Returns a copy with another {@code staticToken}.
     *
     * @param staticToken The token by which the mint knows who may use it (header {@code Clear-auth}), if it wants
     *     one.
     * @return the copy
     */
    public BurnTicketRequest withStaticToken(@Nullable String staticToken) {
        return new BurnTicketRequest(mintUrl, unit, token, staticToken);
    }

    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "BurnTicketRequest[mintUrl=" + mintUrl
                + ", unit=" + unit
                + ", token=…"
                + ", staticToken=…"
                + "]";
    }
}
