// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The former secret of a key that was rotated.
 *
 * @param acceptedUntil Until when it is accepted, in Unix seconds.
 * @param lastUsedAt When it was used last, in Unix seconds.
 */
public record PreviousSecret(long acceptedUntil, @Nullable Long lastUsedAt) {}
