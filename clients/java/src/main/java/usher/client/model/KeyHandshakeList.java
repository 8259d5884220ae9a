// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reusable handshakes and logins.
 *
 * @param handshakes The handshakes, oldest first.
 * @param next The {@code after} for the next page; {@code null} if this is the last one. A page may have fewer entries
 *     than {@code limit}, even none, and still have a {@code next}.
 */
public record KeyHandshakeList(List<ReusableHandshake> handshakes, @Nullable String next) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param handshakes The handshakes, oldest first.
     * @param next The {@code after} for the next page; {@code null} if this is the last one. A page may have fewer
     *     entries than {@code limit}, even none, and still have a {@code next}.
     */
    public KeyHandshakeList {
        handshakes = List.copyOf(handshakes);
    }
}
