// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A secret of the configuration.
 *
 * @param setting Its setting: {@code auth.auth_token}, {@code webhook.secret}, and during a rotation {@code
 *     auth.previous_token}, {@code webhook.previous_secret}.
 * @param lastUsedAt When it was used last since the service started, in Unix seconds; of a webhook's secret also since
 *     it was read anew ({@code SIGHUP}).
 */
public record ConfiguredSecret(String setting, @Nullable Long lastUsedAt) {}
