/** Settings of apps that were run with Usher, as docs/oidc.md has them. `redirect`: where users come back to. */
export interface Framework {
  name: string;
  redirect: string;
  /** The app cannot do PKCE. */
  noPkce?: boolean;
  snippet: (issuer: string, id: string, secret: string) => string;
}

export const FRAMEWORKS: Framework[] = [
  {
    name: "Any OpenID Connect library", redirect: "https://app.example.com/callback",
    snippet: (issuer, id, secret) => `issuer         ${issuer}
discovery      ${issuer}/.well-known/openid-configuration
client_id      ${id}
client_secret  ${secret}
scopes         openid profile
flow           authorization code, PKCE S256`,
  },
  {
    name: "Gitea", redirect: "https://git.example.com/user/oauth2/usher/callback", noPkce: true,
    snippet: (issuer, id, secret) => `gitea admin auth add-oauth --name usher --provider openidConnect --key ${id} --secret ${secret} \\
  --auto-discover-url ${issuer}/.well-known/openid-configuration --scopes openid --scopes profile --scopes email

[oauth2_client]
ENABLE_AUTO_REGISTRATION = true
USERNAME = preferred_username
ACCOUNT_LINKING = disabled`,
  },
  {
    name: "Apache (mod_auth_openidc)", redirect: "https://app.example.com/protected/redirect_uri",
    snippet: (issuer, id, secret) => `OIDCProviderMetadataURL ${issuer}/.well-known/openid-configuration
OIDCClientID ${id}
OIDCClientSecret ${secret}
OIDCRedirectURI https://app.example.com/protected/redirect_uri
OIDCCryptoPassphrase ANOTHER_SECRET
OIDCPKCEMethod S256
OIDCScope "openid profile email"
OIDCRemoteUserClaim sub
<Location /protected>
  AuthType openid-connect
  Require valid-user
</Location>`,
  },
  {
    name: "JupyterHub", redirect: "https://hub.example.com/hub/oauth_callback",
    snippet: (issuer, id, secret) => `c.JupyterHub.authenticator_class = "generic-oauth"
c.GenericOAuthenticator.client_id = "${id}"
c.GenericOAuthenticator.client_secret = "${secret}"
c.GenericOAuthenticator.oauth_callback_url = "https://hub.example.com/hub/oauth_callback"
c.GenericOAuthenticator.authorize_url = "${issuer}/oauth/authorize"
c.GenericOAuthenticator.token_url = "${issuer}/oauth/token"
c.GenericOAuthenticator.userdata_url = "${issuer}/oauth/userinfo"
c.GenericOAuthenticator.logout_redirect_url = "${issuer}/oauth/end-session"
c.GenericOAuthenticator.scope = ["openid", "profile"]
c.GenericOAuthenticator.username_claim = "sub"
c.GenericOAuthenticator.allow_all = True`,
  },
  {
    name: "Synapse (Matrix)", redirect: "https://matrix.example.com/_synapse/client/oidc/callback",
    snippet: (issuer, id, secret) => `oidc_providers:
  - idp_id: usher
    idp_name: Nostr
    issuer: "${issuer}"
    client_id: ${id}
    client_secret: "${secret}"
    scopes: ["openid", "profile"]
    user_profile_method: "userinfo_endpoint"
    user_mapping_provider:
      config:
        localpart_template: "{{ user.preferred_username }}"
        display_name_template: "{{ user.name }}"`,
  },
  {
    name: "django-allauth", redirect: "https://app.example.com/accounts/oidc/usher/login/callback/",
    snippet: (issuer, id, secret) => `SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "usher",
                "name": "Nostr",
                "client_id": "${id}",
                "secret": "${secret}",
                "settings": {"server_url": "${issuer}"},
            }
        ],
    }
}
ACCOUNT_EMAIL_VERIFICATION = "none"`,
  },
  {
    name: "Spring Security", redirect: "https://app.example.com/login/oauth2/code/usher",
    snippet: (issuer, id, secret) => `spring:
  security:
    oauth2:
      client:
        registration:
          usher:
            client-id: ${id}
            client-secret: ${secret}
            scope: openid, profile, email
            client-name: Nostr
        provider:
          usher:
            issuer-uri: ${issuer}
            user-name-attribute: sub`,
  },
  {
    name: "Auth.js", redirect: "https://app.example.com/auth/callback/usher",
    snippet: (issuer, id, secret) => `providers: [{
  id: "usher", name: "Nostr", type: "oidc", issuer: "${issuer}", clientId: "${id}", clientSecret: "${secret}",
  idToken: false,
  profile: (claims) => ({ id: claims.sub, name: claims.preferred_username, email: claims.email }),
}],`,
  },
];
