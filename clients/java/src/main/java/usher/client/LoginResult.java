package usher.client;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** How a login ended. Grant access to {@link Approved} and to nothing else. */
public sealed interface LoginResult {
    /**
     * The user has proved the key: they are logged in.
     *
     * @param mainKey the user's key, in hex: their id in your app
     * @param grantedPermissions the permissions that the wallet grants, in its own words
     * @param sessionToken the session token of the wallet, possibly a JWT
     */
    record Approved(String mainKey, List<String> grantedPermissions, @Nullable String sessionToken) implements LoginResult {
        /**
         * Keeps an unchangeable copy of the list.
         *
         * @param mainKey the user's key, in hex: their id in your app
         * @param grantedPermissions the permissions that the wallet grants, in its own words
         * @param sessionToken the session token of the wallet, possibly a JWT
         */
        public Approved {
            grantedPermissions = List.copyOf(grantedPermissions);
        }

        /** Leaves out the session token. */
        @Override
        public String toString() {
            return "Approved[mainKey=" + mainKey + "]";
        }
    }

    /**
     * The user refused.
     *
     * @param reason why, in the user's words
     */
    record Declined(@Nullable String reason) implements LoginResult {}
}
