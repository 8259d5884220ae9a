/** A site with a login, and an article to pay for. */
module login {
    requires jdk.httpserver;
    requires usher.client;
}
