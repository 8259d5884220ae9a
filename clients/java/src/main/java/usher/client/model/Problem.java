package usher.client.model;

import com.fasterxml.jackson.annotation.JsonAnySetter;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * The body of every error of the service: RFC 9457 problem details.
 *
 * @param type the kind of error: {@code urn:usher:error:} and the {@code code}
 * @param title the kind of error, for people
 * @param status the HTTP status
 * @param detail what happened, for people
 * @param code the kind of error, for programs to branch on; docs/api.md lists the codes
 * @param requestId the id of the request: quote it when you report a problem
 * @param errors all invalid fields; only with {@code invalid_request}
 * @param extensions further members, for example {@code first} of {@code events_removed}
 */
public record Problem(
        String type,
        String title,
        int status,
        String detail,
        String code,
        @JsonProperty("request_id") String requestId,
        @JsonSetter(nulls = Nulls.SET) List<FieldError> errors,
        @JsonAnySetter @JsonSetter(nulls = Nulls.SET) Map<String, Object> extensions) {
    /**
     * Keeps the list and the map unchangeable.
     *
     * @param type the kind of error: {@code urn:usher:error:} and the {@code code}
     * @param title the kind of error, for people
     * @param status the HTTP status
     * @param detail what happened, for people
     * @param code the kind of error, for programs to branch on; docs/api.md lists the codes
     * @param requestId the id of the request: quote it when you report a problem
     * @param errors all invalid fields; only with {@code invalid_request}
     * @param extensions further members, for example {@code first} of {@code events_removed}
     */
    public Problem {
        errors = errors == null ? List.of() : List.copyOf(errors);
        extensions = Collections.unmodifiableMap(extensions);
    }
}
