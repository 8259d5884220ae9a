// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * An operation that has started.
 *
 * @param streamId Where to read its events: {@code GET /events/{stream_id}}.
 */
public record StreamStarted(String streamId) {}
