// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A key that signs ID tokens.
 *
 * @param kid Its id: the {@code kid} of the ID tokens that it has signed, and in {@code /oauth/jwks}.
 * @param algorithm {@code RS256} or {@code ES256}.
 * @param status {@code current}: it signs. {@code retired}: it signs no more, and is published for a day after {@code
 *     retired_at}.
 * @param createdAt When it was made, in Unix seconds.
 * @param retiredAt When another key took its place, in Unix seconds.
 */
public record OidcKey(String kid, String algorithm, String status, long createdAt, @Nullable Long retiredAt) {}
