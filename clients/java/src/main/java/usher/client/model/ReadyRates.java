// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * The exchange rates.
 *
 * @param ready Whether there is a rate of every configured currency.
 * @param currencies The configured currencies ({@code rates.currencies}).
 */
public record ReadyRates(boolean ready, List<ReadyRate> currencies) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param ready Whether there is a rate of every configured currency.
     * @param currencies The configured currencies ({@code rates.currencies}).
     */
    public ReadyRates {
        currencies = List.copyOf(currencies);
    }
}
