// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What was erased of a user, and what was kept.
 *
 * @param mainKey The user.
 * @param erased What was removed by this request.
 * @param kept What still names the user, and why; at most about 2,000 entries.
 * @param next The {@code after} with which to continue; {@code null} if everything was searched.
 */
public record UserErasure(String mainKey, ErasedOfUser erased, List<KeptOfUser> kept, @Nullable String next) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param mainKey The user.
     * @param erased What was removed by this request.
     * @param kept What still names the user, and why; at most about 2,000 entries.
     * @param next The {@code after} with which to continue; {@code null} if everything was searched.
     */
    public UserErasure {
        kept = List.copyOf(kept);
    }
}
