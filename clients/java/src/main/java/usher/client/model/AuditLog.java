// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Who changed what.
 *
 * @param entries The entries, the oldest first.
 * @param head The newest entry of the log: note it elsewhere; {@code usher audit verify --head} compares. {@code
 *     null}: the log is empty.
 * @param next The {@code after} for the next page; {@code null} if this is the last one.
 */
public record AuditLog(List<AuditEntry> entries, @Nullable String head, @Nullable String next) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param entries The entries, the oldest first.
     * @param head The newest entry of the log: note it elsewhere; {@code usher audit verify --head} compares. {@code
     *     null}: the log is empty.
     * @param next The {@code after} for the next page; {@code null} if this is the last one.
     */
    public AuditLog {
        entries = List.copyOf(entries);
    }
}
