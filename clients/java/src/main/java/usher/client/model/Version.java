// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * The version of the service.
 *
 * @param version The version (SemVer). A client library works with a service of the same major.minor.
 * @param commit The commit it was built from.
 */
public record Version(String version, String commit) {}
