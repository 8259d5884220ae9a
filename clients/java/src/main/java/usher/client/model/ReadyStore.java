// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * The database.
 *
 * @param ready Whether it is ready.
 * @param damagedRows How many rows are damaged and were set aside. Nothing else is affected, so they do not affect
 *     {@code ready}.
 * @param damaged The first 100 damaged rows.
 */
public record ReadyStore(boolean ready, long damagedRows, List<DamagedRow> damaged) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param ready Whether it is ready.
     * @param damagedRows How many rows are damaged and were set aside. Nothing else is affected, so they do not affect
     *     {@code ready}.
     * @param damaged The first 100 damaged rows.
     */
    public ReadyStore {
        damaged = List.copyOf(damaged);
    }
}
