/** The version of this client. Its major and minor number are those of the services that it is made for. */
export const CLIENT_VERSION = "0.1.0";

/** The version of the service, compared with the client's. */
export interface VersionCheck {
  client: string;
  service: string;
  /** Major and minor number are the same. */
  matches: boolean;
}

/** Compares major and minor number. */
export function compareVersions(client: string, service: string): VersionCheck {
  const minor = (version: string) => version.split(".", 2).join(".");
  return { client, service, matches: minor(client) === minor(service) };
}
