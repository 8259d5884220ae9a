package usher.client.model;

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
        String requestId,
        List<FieldError> errors,
        Map<String, Object> extensions) {
    /**
     * Keeps an unchangeable copy of the list.
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
        errors = List.copyOf(errors);
    }
}
