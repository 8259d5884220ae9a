// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * What the service's own ticket wallet holds.
 *
 * @param balances One entry for each mint and unit that is not empty.
 */
public record TicketBalances(List<TicketBalance> balances) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param balances One entry for each mint and unit that is not empty.
     */
    public TicketBalances {
        balances = List.copyOf(balances);
    }
}
