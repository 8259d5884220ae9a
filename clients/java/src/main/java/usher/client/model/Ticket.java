// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A new ticket.
 *
 * @param token A Cashu token (NUT-00, version 4). Anybody who has it can spend it.
 */
public record Ticket(String token) {
    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "Ticket[token=…"
                + "]";
    }
}
