// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * What the service's own ticket wallet holds of one mint and unit.
 *
 * @param mintUrl The mint.
 * @param unit The unit.
 * @param amount How much can be spent, in the unit.
 * @param setAside How much is set aside, in the unit: the mint says that it is spent, and the service has not spent
 *     it. It is not in {@code amount}, and comes back when the mint says that it is unspent. Left out when it is 0.
 */
public record TicketBalance(String mintUrl, String unit, long amount, @Nullable Long setAside) {}
