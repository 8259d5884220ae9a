//! The OpenAPI document: made from the endpoints, and completed with what all of them have in common.

mod description_text;
mod errors;
mod examples;
mod header;
mod parameters;
mod webhook;

use serde_json::json;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa::openapi::{
    Content, InfoBuilder, LicenseBuilder, ObjectBuilder, OpenApi, OpenApiBuilder, PathItem, RefOr, Required, Schema,
    Type,
};
use utoipa::{PartialSchema as _, ToSchema as _};
use utoipa_axum::router::OpenApiRouter;

use self::description_text::OperationLinks;
use self::header::header;
use crate::ApiState;
use crate::access::{Access, Reach};
use crate::auth::AuthPolicy;
use crate::endpoint_group::{Description, Endpoint, EndpointGroup};
use crate::problem::{ErrorCode, FieldErrorSchema, ProblemBody};
use crate::route::{Audit, Route, operation_id};

pub(crate) fn document(groups: impl IntoIterator<Item = EndpointGroup<Description>>) -> OpenApi {
    let mut document = OpenApiBuilder::new().info(info()).build();
    let mut tags: Vec<Tag> = Vec::new();
    for group in groups {
        tags.push(TagBuilder::new().name(group.name).description(Some(group.description)).build());
        for Endpoint { policy, documented, .. } in group.endpoints {
            let Some((_, Route { access, audit, .. }, description)) = documented else { continue };
            let mut endpoint = OpenApiRouter::<ApiState>::default().routes(description).into_openapi();
            for item in endpoint.paths.paths.values_mut() {
                if policy == AuthPolicy::Client {
                    item.post.iter_mut().for_each(accept_idempotency_key);
                }
                for (_, operation) in operations(item) {
                    operation.tags = Some(vec![group.name.to_owned()]);
                    complete(operation, policy, access, audit);
                }
            }
            document.merge(endpoint);
        }
    }
    document.tags = Some(tags);
    webhook::describe(&mut document);
    let links = links(&mut document);
    let components = document.components.get_or_insert_default();
    components.schemas.insert(ProblemBody::name().into_owned(), errors::problem());
    components.schemas.insert(FieldErrorSchema::name().into_owned(), FieldErrorSchema::schema());
    components.schemas.insert(ErrorCode::name().into_owned(), ErrorCode::schema());
    examples::complete(&mut components.schemas);
    components.schemas.values_mut().for_each(|schema| links.complete_schema(schema));
    components.add_security_scheme(
        BEARER,
        SecurityScheme::Http(
            Http::builder()
                .scheme(HttpAuthScheme::Bearer)
                .description(Some("The API token of the service: `auth.auth_token` in its configuration."))
                .build(),
        ),
    );
    components.add_security_scheme(
        KEY,
        SecurityScheme::Http(
            Http::builder()
                .scheme(HttpAuthScheme::Bearer)
                .bearer_format("usher_live_…")
                .description(Some("An API key, sent as the token is. It needs the scope that each operation names."))
                .build(),
        ),
    );
    let webhooks = document.webhooks.iter_mut().flat_map(|webhooks| webhooks.paths.values_mut());
    for item in document.paths.paths.values_mut().chain(webhooks) {
        operations(item).for_each(|(_, operation)| complete_prose(operation, &links));
    }
    let operations = document.paths.paths.values_mut().flat_map(operations).map(|(_, operation)| operation);
    errors::share(operations, components);
    document
}

const BEARER: &str = "bearer";

const KEY: &str = "key";

/// What `idempotency::key` accepts: bare, or a string of RFC 8941 section 3.3.3, in which a backslash escapes.
const IDEMPOTENCY_KEY: &str = r#"^(?:[!#-~][!-~]{0,254}|"(?:[!#-\[\]-~]|\\["\\]){1,255}")$"#;

fn info() -> utoipa::openapi::Info {
    InfoBuilder::new()
        .title("Usher")
        .description(Some(
            "Usher logs users in with their Nostr key, asks them for Lightning payments, mints and redeems tickets, and \
             tells your app what happened.\n\n\
             Start with [`POST /login`](#/Login/startLogin): redirect the user's browser to its `page_url`, and read what \
             happens with [`GET /events/{stream_id}`](#/Events/readEvents). `docs/api.md` in the repository explains what \
             all endpoints have in common: authentication, errors, idempotency and events.",
        ))
        .version(env!("CARGO_PKG_VERSION"))
        .license(Some(LicenseBuilder::new().name("MIT OR Apache-2.0").identifier(Some("MIT OR Apache-2.0")).build()))
        .build()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let PathItem { get, put, post, delete, options, head, patch, trace, .. } = item;
    let all = [
        ("GET", get),
        ("PUT", put),
        ("POST", post),
        ("DELETE", delete),
        ("OPTIONS", options),
        ("HEAD", head),
        ("PATCH", patch),
        ("TRACE", trace),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

fn links(document: &mut OpenApi) -> OperationLinks {
    let mut links = OperationLinks::default();
    for (path, item) in &mut document.paths.paths {
        for (method, operation) in operations(item) {
            let tag = operation.tags.iter().flatten().next().map(String::as_str).unwrap_or_default();
            links.add(method, path, tag, operation.operation_id.as_deref().unwrap_or_default());
        }
    }
    links
}

fn complete_prose(operation: &mut Operation, links: &OperationLinks) {
    operation.description.iter_mut().for_each(|text| links.complete(text));
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter {
            parameter.description.iter_mut().for_each(|text| links.complete(text));
        }
    }
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        body.description.iter_mut().for_each(|text| links.complete(text));
    }
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response {
            links.complete(&mut response.description);
        }
    }
}

/// Adds what every POST has: that it may be repeated.
fn accept_idempotency_key(operation: &mut Operation) {
    let key = ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "1 to 255 visible ASCII characters, with or without double quotes. Within 24 hours, the same key with the same \
             body returns the stored response; the work is done once.",
        ))
        .schema(Some(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .pattern(Some(IDEMPOTENCY_KEY))
                .examples([json!("8e03978e-40d5-43dd-bc93-6894a57f9324")])
                .build(),
        ))
        .build();
    operation.parameters.get_or_insert_default().push(RefOr::T(key));
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response
            && status.starts_with('2')
        {
            let replayed =
                header("`true` if this is the stored response to an earlier request with the same `Idempotency-Key`.");
            response.headers.insert("Idempotency-Replayed".into(), replayed);
        }
    }
    // With a key, the body is read even where none is needed, to tell requests apart; and the store is asked.
    let with_key = [ErrorCode::IdempotencyKeyReused, ErrorCode::InvalidRequest, ErrorCode::StorageUnavailable];
    for code in OF_BODIES.into_iter().chain(with_key) {
        errors::add(operation, code);
    }
}

/// What may be wrong with a body as a whole.
const OF_BODIES: [ErrorCode; 4] =
    [ErrorCode::MalformedJson, ErrorCode::BodyTimeout, ErrorCode::BodyTooLarge, ErrorCode::UnsupportedMediaType];

/// Adds the name for client libraries, the errors that follow from the policy, the parameters, the body and what it changes,
/// and who may call it.
fn complete(operation: &mut Operation, policy: AuthPolicy, access: Option<Access>, audit: Audit) {
    operation.operation_id = operation.operation_id.as_deref().map(operation_id);
    let mut codes = vec![ErrorCode::InternalError];
    codes.extend((audit != Audit::Nothing).then_some(ErrorCode::StorageUnavailable));
    operation.security = match policy {
        AuthPolicy::Public => Some(vec![SecurityRequirement::default()]),
        AuthPolicy::Client | AuthPolicy::WebSocket | AuthPolicy::Docs | AuthPolicy::Console => {
            codes.extend([ErrorCode::Unauthorized, ErrorCode::NetworkNotAllowed]);
            codes.extend([ErrorCode::RateLimited, ErrorCode::DeadlineExceeded]);
            codes.extend(access.map(|_| ErrorCode::ScopeMissing));
            codes.extend(access.filter(|access| access.reach == Reach::Service).map(|_| ErrorCode::OwnStreamsOnly));
            codes.extend(access.filter(|access| access.is_uncounted).map(|_| ErrorCode::BudgetNotCounted));
            let nothing = (policy == AuthPolicy::WebSocket).then(SecurityRequirement::default);
            let token = SecurityRequirement::new::<_, _, String>(BEARER, []);
            let key = SecurityRequirement::new(KEY, access.map(|access| access.scope.as_str()));
            Some([token, key].into_iter().chain(nothing).collect())
        }
    };
    if let (Some(access), Some(description)) = (access, &mut operation.description) {
        *description = format!("{}\n\nAn API key needs the scope `{}`.", description.trim_end(), access.scope.as_str());
    }
    if operation.request_body.is_some() {
        codes.extend(OF_BODIES);
    }
    let reads_fields = operation.request_body.is_some() || has_query(operation);
    if reads_fields {
        codes.push(ErrorCode::InvalidRequest);
    }
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response
            && errors::is_error(status)
        {
            errors::explain(&mut response.description);
        }
    }
    for code in codes {
        errors::add(operation, code);
    }
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        if errors::is_error(status) {
            errors::complete(response);
        } else if reads_fields {
            let ignored = header("JSON Pointers to what the request has and Usher does not know, separated by commas.");
            response.headers.insert("Usher-Ignored".into(), ignored);
        }
        let request_id = header("The request id: yours if you sent a valid one, otherwise a random one.");
        response.headers.insert("X-Request-Id".into(), request_id);
    }
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter {
            parameters::forget_null(parameter);
        }
    }
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        body.content.values_mut().for_each(forget_null);
    }
}

fn has_query(operation: &Operation) -> bool {
    let parameters = operation.parameters.iter().flatten();
    parameters.into_iter().any(|parameter| match parameter {
        RefOr::T(parameter) => matches!(parameter.parameter_in, ParameterIn::Query),
        RefOr::Ref(_) => false,
    })
}

/// An optional body is written as `Option`, which utoipa takes for one that may also be `null`.
fn forget_null(content: &mut RefOr<Content>) {
    if let RefOr::T(content) = content
        && let Some(RefOr::T(Schema::OneOf(one_of))) = &content.schema
        && let Some(reference @ RefOr::Ref(_)) = one_of.items.first()
    {
        content.schema = Some(reference.clone());
    }
}
