package usher.client.internal;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A request to the service.
 *
 * @param method the HTTP method
 * @param path path and query, percent-encoded
 * @param body the JSON body
 * @param reportsByStatus whether a 503 is the result and not a reason to try again
 */
public record Request(String method, String path, byte @Nullable [] body, boolean reportsByStatus) {
    /** A request whose path has a parameter for each {@code {name}}. */
    public static Request of(String method, String path, String... parameters) {
        String filled = path;
        for (String parameter : parameters) {
            String value = encode(parameter);
            if (value.isEmpty() || value.equals(".") || value.equals("..")) {
                throw new IllegalArgumentException("\"" + parameter + "\" cannot be a part of the path " + path);
            }
            filled = filled.replaceFirst("\\{[^}]*}", value);
        }
        return new Request(method, filled, null, false);
    }

    public Request body(Object record) {
        return new Request(method, path, Json.write(record), reportsByStatus);
    }

    public Request query(Object record) {
        StringBuilder query = new StringBuilder(path);
        char separator = '?';
        for (Map.Entry<String, Object> member : Json.members(record).entrySet()) {
            query.append(separator).append(member.getKey()).append('=').append(encode(member.getValue().toString()));
            separator = '&';
        }
        return new Request(method, query.toString(), body, reportsByStatus);
    }

    public Request reportingByStatus() {
        return new Request(method, path, body, true);
    }

    private static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
