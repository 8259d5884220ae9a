// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What users agreed to give apps.
 *
 * @param consents The consents, in the order of {@code client_id} and {@code main_key}.
 * @param next The {@code after} for the next page; {@code null} if this is the last one.
 */
public record OidcConsentList(List<OidcConsent> consents, @Nullable String next) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param consents The consents, in the order of {@code client_id} and {@code main_key}.
     * @param next The {@code after} for the next page; {@code null} if this is the last one.
     */
    public OidcConsentList {
        consents = List.copyOf(consents);
    }
}
