// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * What a user agreed to give an app.
 *
 * @param clientId The app, as in {@code oidc.clients}. It may have been removed there.
 * @param mainKey The user.
 * @param scopes What the app may learn.
 * @param agreedAt When the user last agreed, in Unix seconds.
 */
public record OidcConsent(String clientId, String mainKey, List<String> scopes, long agreedAt) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param clientId The app, as in {@code oidc.clients}. It may have been removed there.
     * @param mainKey The user.
     * @param scopes What the app may learn.
     * @param agreedAt When the user last agreed, in Unix seconds.
     */
    public OidcConsent {
        scopes = List.copyOf(scopes);
    }
}
