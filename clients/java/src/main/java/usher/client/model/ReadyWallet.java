// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * The Lightning backend.
 *
 * @param ready Whether it is ready.
 * @param backend Which one.
 * @param warnings What its operator should know: {@code disputed_settlements} while it reports payments as received
 *     whose proof or amount is wrong; if the service runs it itself, also the codes of the {@code warnings} of {@code
 *     GET /wallet/info}.
 */
public record ReadyWallet(boolean ready, String backend, List<String> warnings) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param ready Whether it is ready.
     * @param backend Which one.
     * @param warnings What its operator should know: {@code disputed_settlements} while it reports payments as
     *     received whose proof or amount is wrong; if the service runs it itself, also the codes of the {@code
     *     warnings} of {@code GET /wallet/info}.
     */
    public ReadyWallet {
        warnings = List.copyOf(warnings);
    }
}
