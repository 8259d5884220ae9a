// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A valid JWT.
 *
 * @param targetKey The key that the JWT is about.
 */
public record JwtVerified(String targetKey) {}
