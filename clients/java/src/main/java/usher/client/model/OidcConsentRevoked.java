// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A consent that was revoked.
 *
 * @param status {@code revoked}.
 */
public record OidcConsentRevoked(String status) {}
