// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * Names a consent.
 *
 * @param clientId The app, as in {@code oidc.clients}.
 * @param mainKey The user.
 */
public record RevokeOidcConsentRequest(String clientId, String mainKey) {
    /**
     * Creates it from what is required.
     *
     * @param clientId The app, as in {@code oidc.clients}.
     * @param mainKey The user.
     * @return a new {@code RevokeOidcConsentRequest}
     */
    public static RevokeOidcConsentRequest of(String clientId, String mainKey) {
        return new RevokeOidcConsentRequest(clientId, mainKey);
    }
}
