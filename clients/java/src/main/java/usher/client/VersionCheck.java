package usher.client;

import usher.client.internal.ApiVersion;

/**
 * The versions of client and service.
 *
 * @param client the version that this client was made for
 * @param service the version of the service
 * @param compatible whether major and minor are the same
 */
public record VersionCheck(String client, String service, boolean compatible) {
    static VersionCheck of(String service) {
        String client = ApiVersion.VERSION;
        return new VersionCheck(client, service, majorMinor(client).equals(majorMinor(service)));
    }

    private static String majorMinor(String version) {
        String[] parts = version.split("[.+-]", 3);
        return parts.length < 2 ? version : parts[0] + "." + parts[1];
    }

    /**
     * Says what to do about a difference.
     *
     * @return a sentence, for a log
     */
    public String message() {
        return compatible
                ? "usher-client " + client + " fits Usher " + service
                : "usher-client " + client + " does not fit Usher " + service + ": use the client of version "
                        + majorMinor(service);
    }
}
