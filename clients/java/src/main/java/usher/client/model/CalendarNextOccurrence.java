// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The next occurrence of a calendar.
 *
 * @param nextOccurrence Unix seconds, always after {@code from}; {@code null} if there is no occurrence before the
 *     year 2200.
 */
public record CalendarNextOccurrence(@Nullable Long nextOccurrence) {}
