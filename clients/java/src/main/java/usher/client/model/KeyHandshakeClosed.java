// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A closed handshake.
 *
 * @param streamId Its stream.
 * @param status {@code closed}.
 */
public record KeyHandshakeClosed(String streamId, String status) {}
