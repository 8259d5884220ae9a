// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Takes back a ticket that was sent.
 *
 * @param staticToken The token by which the mint knows who may use it (header {@code Clear-auth}), if it wants one.
 */
public record ReclaimTicketRequest(@Nullable String staticToken) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code ReclaimTicketRequest}
     */
    public static ReclaimTicketRequest of() {
        return new ReclaimTicketRequest(null);
    }

    /**
     * Returns a copy with another {@code staticToken}.
     *
     * @param staticToken The token by which the mint knows who may use it (header {@code Clear-auth}), if it wants
     *     one.
     * @return the copy
     */
    public ReclaimTicketRequest withStaticToken(@Nullable String staticToken) {
        return new ReclaimTicketRequest(staticToken);
    }

    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "ReclaimTicketRequest[staticToken=…"
                + "]";
    }
}
