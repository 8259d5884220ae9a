// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * The mints.
 *
 * @param ready Whether no mint failed to respond to the last request.
 * @param mints The first 100 mints at which the service has a balance or unfinished jobs, those that do not respond
 *     first.
 */
public record ReadyTickets(boolean ready, List<ReadyMint> mints) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param ready Whether no mint failed to respond to the last request.
     * @param mints The first 100 mints at which the service has a balance or unfinished jobs, those that do not
     *     respond first.
     */
    public ReadyTickets {
        mints = List.copyOf(mints);
    }
}
