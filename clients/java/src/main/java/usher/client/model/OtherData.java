package usher.client.model;

import java.util.Map;

/**
 * Data of a type of event that is newer than this client.
 *
 * @param members the members of the JSON object: {@code String}, {@code Long}, {@code Double}, {@code Boolean}, {@code
 *     List} and {@code Map}, and null
 */
public record OtherData(Map<String, Object> members) implements EventData {
    /** Leaves out the values: nobody knows whether they may be in a log. */
    @Override
    public String toString() {
        return "OtherData" + members.keySet();
    }
}
