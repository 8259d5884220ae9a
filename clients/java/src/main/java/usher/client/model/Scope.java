// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/** What a key may do. Each allows exactly what it says: none includes another. */
public record Scope() {}
