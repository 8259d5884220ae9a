// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The exchange rate of a currency.
 *
 * @param currency The code of the currency.
 * @param sources The sources that may have it.
 * @param problem Why there is no rate now.
 */
public record ReadyRate(String currency, List<ReadyRateSource> sources, @Nullable String problem) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param currency The code of the currency.
     * @param sources The sources that may have it.
     * @param problem Why there is no rate now.
     */
    public ReadyRate {
        sources = List.copyOf(sources);
    }
}
