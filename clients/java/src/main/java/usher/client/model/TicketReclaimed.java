// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A ticket that was taken back.
 *
 * @param streamId Its stream.
 * @param status {@code reclaimed}.
 * @param amount What the service received, in the ticket's unit: its value without the mint's fee.
 */
public record TicketReclaimed(String streamId, String status, long amount) {}
