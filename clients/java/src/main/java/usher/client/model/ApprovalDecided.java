// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A decision that was taken.
 *
 * @param streamId The payment's stream.
 * @param decision {@code approve} or {@code decline}.
 */
public record ApprovalDecided(String streamId, String decision) {}
