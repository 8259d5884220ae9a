// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * Passkeys that were forgotten.
 *
 * @param mainKey The user.
 * @param status {@code forgotten}.
 * @param passkeys How many.
 */
public record PasskeysForgotten(String mainKey, String status, long passkeys) {}
