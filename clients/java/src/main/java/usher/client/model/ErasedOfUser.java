// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * What was removed of a user.
 *
 * @param streams Finished streams, with their events and deliveries.
 * @param passkeys Passkeys.
 * @param remoteSigners Sessions with remote signers: 0 or 1.
 * @param relays The user's relays: 1 if they were known.
 * @param oidcConsents Apps that the user had agreed to give something (OpenID Connect).
 * @param oidcRecords Sessions, codes and tokens (OpenID Connect).
 */
public record ErasedOfUser(
        long streams,
        long passkeys,
        long remoteSigners,
        long relays,
        long oidcConsents,
        long oidcRecords) {}
