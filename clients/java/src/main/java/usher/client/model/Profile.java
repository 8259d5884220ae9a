// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A profile. Its texts come from an untrusted source: they have one line each, no control characters, and a limited
 * length.
 *
 * @param id The id of the Nostr event with the profile.
 * @param pubkey The key of the user.
 * @param name User name, without spaces.
 * @param displayName The name to display.
 * @param picture {@code https} or {@code http} URL of a picture. It is untrusted.
 * @param about A short description.
 * @param nip05 Identifier {@code name@domain}, only if the domain confirms it.
 */
public record Profile(
        String id,
        String pubkey,
        @Nullable String name,
        @Nullable String displayName,
        @Nullable String picture,
        @Nullable String about,
        @Nullable String nip05) {}
