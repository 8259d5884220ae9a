// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A refund that has started.
 *
 * @param streamId Where to read its events: {@code GET /events/{stream_id}}.
 * @param pageUrl A page for the payer's browser, on which they name an invoice. Anybody who has it can have the money
 *     paid to themselves.
 */
public record RefundStarted(String streamId, String pageUrl) {
    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "RefundStarted[streamId=" + streamId
                + ", pageUrl=…"
                + "]";
    }
}
