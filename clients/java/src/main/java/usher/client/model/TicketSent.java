// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A ticket that is on its way.
 *
 * @param streamId Where to read what becomes of it: {@code GET /events/{stream_id}}.
 * @param status {@code sent}: it is being sent. {@code queued}: it is stored, and will be sent as soon as a relay is
 *     connected.
 */
public record TicketSent(String streamId, String status) {}
