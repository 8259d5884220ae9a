// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A mint. It is not asked for this response.
 *
 * @param mintUrl Its address.
 * @param unfinishedJobs How many jobs (to mint, redeem, verify or withdraw) are not finished. They continue on their
 *     own.
 * @param responds Whether it responded to the last request, other than with a server error; {@code null} when none was
 *     sent since the start.
 */
public record ReadyMint(String mintUrl, long unfinishedJobs, @Nullable Boolean responds) {}
