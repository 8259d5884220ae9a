// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.internal;

/** The version of the interface that this client was made for. */
public final class ApiVersion {
    /** As the document has it. */
    public static final String VERSION = "0.1.0";

    private ApiVersion() {}
}
