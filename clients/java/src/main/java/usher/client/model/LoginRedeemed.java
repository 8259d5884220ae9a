// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * Who has logged in.
 *
 * @param mainKey The user's key, which they have proven: their id in your app.
 * @param method What they have proven it with: {@code wallet}, {@code extension} (NIP-07), {@code signer} (NIP-46) or
 *     {@code passkey} (WebAuthn).
 */
public record LoginRedeemed(String mainKey, String method) {}
