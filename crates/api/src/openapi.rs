//! The OpenAPI document: made from the routes, completed here with what is the same for all of them.

use serde_json::json;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa::openapi::{
    Content, ContentBuilder, Header, InfoBuilder, LicenseBuilder, ObjectBuilder, OpenApi, OpenApiBuilder, PathItem,
    Ref, RefOr, Required, Response, Schema, Type,
};
use utoipa::{PartialSchema as _, ToSchema as _};

use crate::problem::{ErrorCode, FieldError, PROBLEM_JSON, ProblemBody};
use crate::{examples, formats, gate, routes, webhook};

/// The OpenAPI 3.1 document of the interface; the committed one is `docs/openapi.json`.
pub fn openapi() -> OpenApi {
    let mut document = OpenApiBuilder::new().info(info()).tags(Some(tags())).build();
    for (part, access) in [
        (routes::public(), gate::Access::Public),
        (routes::protected(), gate::Access::Token),
        (routes::socket(), gate::Access::Socket),
        (routes::local(), gate::Access::Docs),
    ] {
        let mut part = part.into_openapi();
        for item in part.paths.paths.values_mut() {
            if access == gate::Access::Token {
                item.post.iter_mut().for_each(repeatable);
            }
            operations(item).for_each(|operation| complete(operation, access));
        }
        document.merge(part);
    }
    webhook::describe(&mut document);
    let components = document.components.get_or_insert_default();
    components.schemas.insert(ProblemBody::name().into_owned(), problem());
    components.schemas.insert(FieldError::name().into_owned(), FieldError::schema());
    components.schemas.insert(ErrorCode::name().into_owned(), ErrorCode::schema());
    components.schemas.values_mut().for_each(formats::complete);
    examples::complete(&mut components.schemas);
    components.add_security_scheme(
        BEARER,
        SecurityScheme::Http(
            Http::builder()
                .scheme(HttpAuthScheme::Bearer)
                .description(Some("The service's `auth.auth_token`."))
                .build(),
        ),
    );
    document
}

const BEARER: &str = "bearer";

/// What `idempotency::key` takes: bare, or the string of RFC 8941 section 3.3.3, in which a backslash escapes.
const IDEMPOTENCY_KEY: &str = r#"^(?:[!#-~][!-~]{0,254}|"(?:[!#-\[\]-~]|\\["\\]){1,255}")$"#;

fn info() -> utoipa::openapi::Info {
    InfoBuilder::new()
        .title("Usher")
        .description(Some(
            "Logs users in by their Nostr key, has them pay over Lightning, and tells the app what happened. See docs/api.md \
             for what all calls have in common: errors, request ids, streams and how to read them.",
        ))
        .version(env!("CARGO_PKG_VERSION"))
        .license(Some(LicenseBuilder::new().name("MIT OR Apache-2.0").identifier(Some("MIT OR Apache-2.0")).build()))
        .build()
}

/// What the operations are sorted by, in the order in which an app meets them.
const TAGS: [(&str, &str); 9] = [
    ("Login", "Users say who they are, and prove it."),
    ("Events", "What came of what was started."),
    ("Payments", "Users pay, subscribe and send invoices; invoices of others are paid."),
    ("Profiles", "What keys and names say of whom they belong to, the service itself among them."),
    ("JWT", "Tokens about a key, for other programs."),
    ("Relays", "Over which the service and the wallets of its users meet."),
    ("Webhooks", "Events are posted to the app; which of them reached it."),
    ("Service", "How the service is doing."),
    ("Documentation", "This document."),
];

fn tags() -> impl IntoIterator<Item = Tag> {
    TAGS.map(|(name, description)| TagBuilder::new().name(name).description(Some(description)).build())
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, options, head, patch, trace, .. } = item;
    [get, put, post, delete, options, head, patch, trace].into_iter().filter_map(Option::as_mut)
}

/// Adds what every POST has: that it may be repeated.
fn repeatable(operation: &mut Operation) {
    let key = ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "1 to 255 visible ASCII characters, bare or in double quotes. The same key with the same body within 24 hours is \
             answered as the first time, and the work is done once.",
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
            let replayed = header("`true` when this was answered before, to the same `Idempotency-Key`.");
            response.headers.insert("Idempotency-Replayed".into(), replayed);
        }
    }
    // With a key the body is read also where none is wanted, to tell calls apart; and the store is asked.
    let keyed = [ErrorCode::IdempotencyKeyReused, ErrorCode::InvalidRequest, ErrorCode::StorageUnavailable];
    for code in OF_BODIES.into_iter().chain(keyed) {
        add(operation, code);
    }
}

/// What may be wrong with a body before anything in it is looked at.
const OF_BODIES: [ErrorCode; 4] =
    [ErrorCode::MalformedJson, ErrorCode::BodyTimeout, ErrorCode::BodyTooLarge, ErrorCode::UnsupportedMediaType];

/// Adds the errors that every operation has, or every one with a body, and who may call it.
fn complete(operation: &mut Operation, access: gate::Access) {
    let mut codes = vec![ErrorCode::InternalError];
    operation.security = match access {
        gate::Access::Public => Some(vec![SecurityRequirement::default()]),
        gate::Access::Token | gate::Access::Socket | gate::Access::Docs => {
            codes.extend([ErrorCode::Unauthorized, ErrorCode::RateLimited, ErrorCode::DeadlineExceeded]);
            let nothing = (access == gate::Access::Socket).then(SecurityRequirement::default);
            Some([SecurityRequirement::new::<_, _, String>(BEARER, [])].into_iter().chain(nothing).collect())
        }
    };
    if operation.request_body.is_some() {
        codes.extend(OF_BODIES);
        codes.push(ErrorCode::InvalidRequest);
    }
    for code in codes {
        add(operation, code);
    }
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        if is_error(status) {
            complete_error(response);
        }
        response
            .headers
            .insert("X-Request-Id".into(), header("The request id: yours if you sent one, else a random one."));
    }
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter {
            formats::forget_null(parameter);
        }
    }
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        body.content.values_mut().for_each(forget_null);
    }
}

/// Adds an error response, or this code to the response of its status that is there already and does not name it.
fn add(operation: &mut Operation, code: ErrorCode) {
    let line = format!("`{}`: {}.", code.as_str(), code.title());
    let response = operation.responses.responses.entry(code.status().as_u16().to_string());
    let response = response.or_insert_with(|| Response::default().into());
    if let RefOr::T(response) = response {
        if response.description.contains(&format!("`{}`", code.as_str())) {
            return;
        }
        let separator = if response.description.is_empty() { "" } else { "\n\n" };
        response.description = format!("{}{separator}{line}", response.description);
    }
}

fn is_error(status: &str) -> bool {
    status.starts_with(['4', '5'])
}

/// Gives an error response its body, with an example of the first code that its description names, and headers.
fn complete_error(response: &mut Response) {
    let named = |code: &ErrorCode| response.description.find(&format!("`{}`", code.as_str()));
    let codes = ErrorCode::ALL.into_iter().filter_map(|code| Some((named(&code)?, code)));
    let Some((_, code)) = codes.min_by_key(|(at, _)| *at) else { return };
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name(ProblemBody::name())))
        .example(Some(example(code)))
        .build();
    response.content.insert(PROBLEM_JSON.into(), RefOr::T(content));
    match code.status().as_u16() {
        401 => response.headers.insert("WWW-Authenticate".into(), header("`Bearer`.")),
        429 | 503 => response.headers.insert("Retry-After".into(), header("Seconds after which to ask again.")),
        _ => None,
    };
}

fn header(description: &str) -> RefOr<Header> {
    let mut header = Header::default();
    header.description = Some(description.into());
    RefOr::T(header)
}

/// A body that may be missing is written as `Option`, which utoipa takes for one that may also be `null`.
fn forget_null(content: &mut RefOr<Content>) {
    if let RefOr::T(content) = content
        && let Some(RefOr::T(Schema::OneOf(one_of))) = &content.schema
        && let Some(reference @ RefOr::Ref(_)) = one_of.items.first()
    {
        content.schema = Some(reference.clone());
    }
}

/// The body of every error, with an example that has all there is.
fn problem() -> RefOr<Schema> {
    let mut problem = ProblemBody::schema();
    if let RefOr::T(Schema::Object(object)) = &mut problem {
        object.example = Some(example(ErrorCode::InvalidRequest));
    }
    problem
}

fn example(code: ErrorCode) -> serde_json::Value {
    let mut example = json!({
        "type": code.type_uri(),
        "title": code.title(),
        "status": code.status().as_u16(),
        "detail": code.title(),
        "code": code.as_str(),
        "request_id": "b1d5781111d84f7b3fe45a0852e59758",
    });
    if code == ErrorCode::InvalidRequest {
        example["detail"] = "1 field is wrong".into();
        example["errors"] = json!([{ "pointer": "/main_key", "detail": "is required" }]);
    }
    example
}
