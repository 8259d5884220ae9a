// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A source of an exchange rate. It is not asked for this response.
 *
 * @param name Its name: that of the preset, or the host.
 * @param ageSeconds How many seconds ago its last price was read; {@code null} if it has had none since the start.
 * @param problem Why its last response was of no use, or why it is left out.
 */
public record ReadyRateSource(String name, @Nullable Long ageSeconds, @Nullable String problem) {}
