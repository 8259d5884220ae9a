// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A token of the configuration.
 *
 * @param setting Its setting: {@code auth.auth_token}, or {@code auth.previous_token} during a rotation.
 * @param lastUsedAt When it was used last since the service started, in Unix seconds.
 */
public record ConfiguredToken(String setting, @Nullable Long lastUsedAt) {}
