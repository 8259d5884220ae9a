// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * The key is revoked.
 *
 * @param id Its id.
 * @param status {@code revoked}.
 */
public record ApiKeyRevoked(String id, String status) {}
