// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A remote signer that was forgotten.
 *
 * @param mainKey The user.
 * @param status {@code forgotten}.
 */
public record RemoteSignerForgotten(String mainKey, String status) {}
