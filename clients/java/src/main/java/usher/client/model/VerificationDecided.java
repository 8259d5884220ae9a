// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A session that was decided.
 *
 * @param sessionId Its id.
 * @param status {@code approved} or {@code rejected}.
 */
public record VerificationDecided(String sessionId, String status) {}
