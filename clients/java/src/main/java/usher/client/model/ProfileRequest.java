// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The service's own profile. A field that is missing or {@code null} is removed from it.
 *
 * @param about A short description, on one line.
 * @param displayName The name to display, on one line.
 * @param name User name, without spaces.
 * @param nip05 Identifier {@code name@domain}. The domain must serve the response of {@code GET
 *     /.well-known/nostr.json} of this service.
 * @param picture {@code https} or {@code http} URL of a picture.
 */
public record ProfileRequest(
        @Nullable String about,
        @Nullable String displayName,
        @Nullable String name,
        @Nullable String nip05,
        @Nullable String picture) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code ProfileRequest}
     */
    public static ProfileRequest of() {
        return new ProfileRequest(null, null, null, null, null);
    }

    /**
     * Returns a copy with another {@code about}.
     *
     * @param about A short description, on one line.
     * @return the copy
     */
    public ProfileRequest withAbout(@Nullable String about) {
        return new ProfileRequest(about, displayName, name, nip05, picture);
    }

    /**
     * Returns a copy with another {@code displayName}.
     *
     * @param displayName The name to display, on one line.
     * @return the copy
     */
    public ProfileRequest withDisplayName(@Nullable String displayName) {
        return new ProfileRequest(about, displayName, name, nip05, picture);
    }

    /**
     * Returns a copy with another {@code name}.
     *
     * @param name User name, without spaces.
     * @return the copy
     */
    public ProfileRequest withName(@Nullable String name) {
        return new ProfileRequest(about, displayName, name, nip05, picture);
    }

    /**
     * Returns a copy with another {@code nip05}.
     *
     * @param nip05 Identifier {@code name@domain}. The domain must serve the response of {@code GET
     *     /.well-known/nostr.json} of this service.
     * @return the copy
     */
    public ProfileRequest withNip05(@Nullable String nip05) {
        return new ProfileRequest(about, displayName, name, nip05, picture);
    }

    /**
     * Returns a copy with another {@code picture}.
     *
     * @param picture {@code https} or {@code http} URL of a picture.
     * @return the copy
     */
    public ProfileRequest withPicture(@Nullable String picture) {
        return new ProfileRequest(about, displayName, name, nip05, picture);
    }
}
