// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A row of the database that cannot be read.
 *
 * @param table {@code operations}, {@code events}, {@code outbox}, {@code deliveries} or {@code user_relays}.
 * @param id A stream, an event or delivery as {@code <stream>:<index>}, or a user's public key.
 */
public record DamagedRow(String table, String id) {}
