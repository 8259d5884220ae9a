package usher.client.model;

/**
 * An invalid field of a request.
 *
 * @param pointer where: a JSON Pointer (RFC 6901) into the body; for a query parameter or header, {@code /} and its name
 * @param detail what is wrong, for people
 */
public record FieldError(String pointer, String detail) {}
